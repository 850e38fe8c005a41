"""Tasks on all cores of this machine, or on a Ray cluster: the same rows either way, each once.

A task is a dict; what works on it is a function of a module, so that other processes can import it. One task is one
seed or one configuration: a task of Ray's costs about 11 ms, and a step of a simulation microseconds.
"""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Any

from slackwater import extras

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Task = dict[str, Any]
# A task whose worker died is tried again this often.
RETRIES = 3


class WorkerError(RuntimeError):
    """A task's workers died, again and again."""


def run(
    work: Callable[[Task], Any],
    tasks: Sequence[Task],
    *,
    jobs: int | None = None,
    ray: str | None = None,
    threads: bool = False,
) -> Iterator[tuple[int, Any]]:
    """Yield the number of each task and what ``work`` made of it, as they end.

    ``ray`` names a cluster (``auto``, ``local``, ``HOST:PORT`` or ``ray://HOST:PORT``); without it up to ``jobs``
    processes of this machine work, or with ``threads`` threads of this one: a simulation releases the interpreter's
    lock. A task whose worker dies is tried again; an exception of ``work`` comes out here.
    """
    if ray is not None:
        yield from _on_ray(work, tasks, ray)
    elif threads:
        yield from _threads(work, tasks, jobs or cores())
    else:
        yield from _here(work, tasks, jobs or cores())


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _threads(work: Callable[[Task], Any], tasks: Sequence[Task], jobs: int) -> Iterator[tuple[int, Any]]:
    with ThreadPoolExecutor(max(jobs, 1)) as pool:
        waiting = {pool.submit(work, task): i for i, task in enumerate(tasks)}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _here(work: Callable[[Task], Any], tasks: Sequence[Task], jobs: int) -> Iterator[tuple[int, Any]]:
    if jobs <= 1 or len(tasks) <= 1:
        for i, task in enumerate(tasks):
            yield i, work(task)
        return
    left = dict(enumerate(tasks))
    for _ in range(RETRIES + 1):
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(jobs, len(left)), mp_context=context) as pool:
            waiting: dict[Future[Any], int] = {pool.submit(work, task): i for i, task in left.items()}
            try:
                while waiting:
                    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in done:
                        i = waiting.pop(future)
                        result = future.result()
                        del left[i]
                        yield i, result
            except BrokenProcessPool:
                # One dead process breaks the pool: what has not ended goes to a new one.
                continue
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            return
    msg = f"{len(left)} tasks: found a worker that died {RETRIES + 1} times, expected results"
    raise WorkerError(msg)


def _on_ray(work: Callable[[Task], Any], tasks: Sequence[Task], address: str) -> Iterator[tuple[int, Any]]:
    extras.check("ray")
    import ray

    mine = not ray.is_initialized()
    if mine:
        ray.init(address=None if address == "local" else address, log_to_driver=False)
    try:
        remote = ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=False)(work)
        waiting = {remote.remote(task): i for i, task in enumerate(tasks)}
        while waiting:
            done, _ = ray.wait(list(waiting), num_returns=1)
            for reference in done:
                # A reference is waited for once, so each row comes once, however often its task was tried.
                i = waiting.pop(reference)
                try:
                    result = ray.get(reference)
                except ray.exceptions.WorkerCrashedError as error:
                    msg = f"task {i}: found a worker that died {RETRIES + 1} times, expected a result"
                    raise WorkerError(msg) from error
                yield i, result
    finally:
        if mine:
            ray.shutdown()
