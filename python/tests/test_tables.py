import gc
from typing import Any

import numpy as np
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


def test_a_column_is_had_by_its_name(table: slackwater.Table) -> None:
    frame = table.to_polars()
    assert table.columns == table.column_names == frame.columns
    for name in table.columns:
        column, wanted = table[name], frame[name].to_list()
        assert isinstance(column, slackwater.Column)
        assert column.name == name
        assert len(column) == len(table)
        assert column.to_list() == list(column) == wanted
        assert (column[0], column[-1]) == (wanted[0], wanted[-1])
        assert column[1:9:3] == wanted[1:9:3]
        assert column[::-1] == wanted[::-1]
        assert column[5:2] == []
    assert table.columns[0] in table
    assert "no such" not in table
    assert 7 not in table


def test_a_misspelt_column_and_a_place_beyond_it_say_what_is_there(table: slackwater.Table) -> None:
    with pytest.raises(KeyError, match=r'found "tim_ns", expected "time_ns"\?'):
        table["tim_ns"]
    with pytest.raises(KeyError, match="expected one of time_ns, "):
        table["something else"]
    column = table["time_ns"]
    for place in (len(column), -len(column) - 1):
        with pytest.raises(IndexError, match=f"below {len(column)}"):
            column[place]


def test_a_missing_number_is_none_and_nan(scenario: dict[str, Any]) -> None:
    column = slackwater.run(scenario).flows["pacing_bps"]
    gaps = [value is None for value in column]
    assert any(gaps)
    array = column.to_numpy()
    assert np.isnan(array).tolist() == gaps
    assert array.dtype == np.float64


def test_numpy_takes_a_column(table: slackwater.Table) -> None:
    times, events = table["time_ns"], table["event"]
    array = np.asarray(times)
    assert array.dtype == np.int64
    assert array.tolist() == times.to_list()
    assert np.asarray(times, dtype=np.float64).dtype == np.float64
    assert np.asarray(events).tolist() == events.to_list()
    array[0] = -1
    assert times[0] != -1
    with pytest.raises(ValueError, match="by a copy"):
        np.array(times, copy=False)


def test_rows_are_dicts_which_pandas_takes(scenario: dict[str, Any]) -> None:
    run = slackwater.run(scenario)
    for table in (run.flows, run.events):
        rows = list(table)
        assert rows == table.to_arrow().to_pylist()
        frame = pd.DataFrame(table)
        assert list(frame.columns) == table.columns
        assert len(frame) == len(table)
    assert list(run.transfers) == []


def test_a_notebook_gets_the_first_rows_with_their_letters_escaped(scenario: dict[str, Any]) -> None:
    scenario["flow"][0]["label"] = "<b>&"
    run = slackwater.run(scenario)
    text = run.flows._repr_html_()
    assert text.count("<tr>") == 11
    assert f"{len(run.flows)} rows" in text
    assert "&lt;b&gt;&amp;" in text
    assert "<b>" not in text
    assert run.transfers._repr_html_().count("<tr>") == 1
