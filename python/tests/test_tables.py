import gc
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import slackwater


@pytest.fixture
def table(scenario: dict[str, Any]) -> slackwater.Table:
    return slackwater.run(scenario).packets


def addresses(table: pa.Table) -> list[int]:
    return [
        buffer.address
        for column in table.columns
        for chunk in column.chunks
        for buffer in chunk.buffers()
        if buffer is not None
    ]


def test_libraries_agree_on_shape(table: slackwater.Table) -> None:
    shape = (table.num_rows, len(table.column_names))
    assert len(table) == table.num_rows > 0
    assert pl.DataFrame(table).shape == shape
    assert table.to_polars().columns == table.column_names
    assert isinstance(table.to_pandas(), pd.DataFrame)
    assert table.to_pandas().shape == shape
    assert table.to_arrow().shape == shape
    assert pa.schema(table).names == table.column_names


def test_nothing_is_copied_on_the_way_out(table: slackwater.Table) -> None:
    once, again = addresses(pa.table(table)), addresses(pa.table(table))
    assert once
    assert once == again


def test_every_table_is_there(scenario: dict[str, Any]) -> None:
    run = slackwater.run(scenario)
    for table in (run.flows, run.links, run.throughput, run.internals, run.events, run.packets):
        assert table.to_polars().height == len(table) > 0
    assert len(run.transfers) == 0
    assert run.flows is run.flows
    scenario["record"] = {"packets": False}
    assert len(slackwater.run(scenario).packets) == 0


def test_names_are_texts_and_gaps_are_nulls(scenario: dict[str, Any]) -> None:
    run = slackwater.run(scenario)
    assert {"sent", "delivered"} <= set(run.packets.to_arrow()["event"].to_pylist())
    assert "sent" in run.packets.to_polars()["event"].cast(pl.String).to_list()
    assert not run.flows.to_polars()["pacing_bps"].is_nan().any()


def test_a_frame_outlives_its_table(scenario: dict[str, Any]) -> None:
    run = slackwater.run(scenario)
    frame = pa.table(run.packets)
    before = frame.to_pydict()
    del run
    gc.collect()
    assert frame.to_pydict() == before
    frame.validate(full=True)
