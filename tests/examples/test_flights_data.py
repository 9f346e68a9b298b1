"""The truth that the demonstration compares itself with."""

from __future__ import annotations

from examples.flights.data import SCHEMAS, count, rows_of


def test_the_files_have_the_published_numbers_of_rows() -> None:
    """The five tables are whole, as their publisher counts them."""
    expected = {
        "airlines": 16,
        "airports": 1458,
        "planes": 3322,
        "weather": 26115,
        "flights": 336776,
    }

    assert expected == count("US").rows


def test_the_schemas_name_the_columns_of_the_files() -> None:
    """No column is lost or renamed on the way into the lakehouse."""
    for table, schema in SCHEMAS.items():
        columns = [part.split()[0] for part in schema.split(",")]

        assert list(next(iter(rows_of(table)))) == columns
