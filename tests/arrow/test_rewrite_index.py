"""Indexes for files that exist: built where they are missing, kept where they are right, never in the way of others."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import polynya
from golden_data import golden_table
from polynya.arrow import rewrite_index
from polynya.errors import InvalidInputError
from polynya.model.predicate import TRUE
from polynya.paimon import file_index, layout, schema_file
from polynya.table import entries, history
from polynya.table.commit import Target

SCHEMA = pa.schema(
    [("id", pa.int64()), ("name", pa.string()), ("p", pa.int32()), ("m", pa.map_(pa.string(), pa.int32()))]
)
BLOOM = {"file-index.bloom-filter.columns": "id", "file-index.bloom-filter.id.items": "50"}


def rows(start: int, count: int) -> pa.Table:
    ids = range(start, start + count)
    maps = [[("k", n)] if n % 2 else None for n in ids]
    return pa.table([list(ids), [f"n{n}" for n in ids], [n % 2 for n in ids], maps], schema=SCHEMA)


def make(folder: Path, **arguments: object) -> polynya.Table:
    warehouse = polynya.open_warehouse(folder)
    warehouse.create_database("db")
    table = warehouse.create_table("db.t", SCHEMA, **arguments)
    for start in (0, 40):
        table.write(rows(start, 40))
    return table


def altered(table: polynya.Table, **changes: object) -> polynya.Table:
    """The table after a change of its schema."""
    latest = table.refresh().schema
    new = replace(latest, id=latest.id + 1, **changes)
    table.root.storage.put_new(layout.schema_name(new.id), schema_file.encode(new))
    return table.refresh()


def live(table: polynya.Table) -> list[dict]:
    return entries.read_live(table.root, table.refresh().snapshot).to_pylist()


def slots(entry: dict, folder: Path) -> dict[str, set[str]]:
    data = entry["embedded_file_index"]
    if data is None:
        (name,) = [name for name in entry["extra_files"] if name.endswith(".index")]
        data = next(folder.rglob(name)).read_bytes()
    found = file_index.decode(data, "index")
    return {column: set(found.types(column)) for column in found.slots}


def test_files_get_the_indexes_that_the_options_ask_for_now(tmp_path: Path) -> None:
    table = make(tmp_path)
    assert table.rewrite_file_index().snapshot_id is None
    table = altered(table, options=BLOOM)
    made = table.rewrite_file_index()
    assert (made.commit_kind, made.added_files, made.deleted_files, made.record_count) == ("COMPACT", 2, 2, 0)
    assert [slots(entry, tmp_path) for entry in live(table)] == [{"id": {"bloom-filter"}}] * 2
    plan = table.refresh().scan("id = 30").plan()
    assert plan.file_count == 1
    assert plan.explain().count("file index") or plan.pruned.files_skipped
    assert table.refresh().scan().to_arrow().num_rows == 80
    assert not table.refresh().check(deep=True).problems


def test_an_index_is_the_one_that_a_writer_would_have_made(tmp_path: Path) -> None:
    options = BLOOM | {"file-index.bitmap.columns": "name", "file-index.bsi.columns": "id"}
    options |= {"file-index.bloom-filter.columns": "id,m[k]", "file-index.in-manifest-threshold": "1 mb"}
    written = make(tmp_path / "a", options=options)
    later = make(tmp_path / "b")
    altered(later, options=options).rewrite_file_index()
    assert len(live(later)) == 2
    for one, other in zip(live(written), live(later), strict=True):
        left, right = (file_index.decode(entry["embedded_file_index"], "x") for entry in (one, other))
        assert {(c, k): left.body(c, k) for c in left.slots for k in left.types(c)} == {
            (c, k): right.body(c, k) for c in right.slots for k in right.types(c)
        }


def test_what_is_right_stays_and_what_is_superfluous_goes_with_the_next_change(tmp_path: Path) -> None:
    table = make(tmp_path, options=BLOOM)
    assert table.rewrite_file_index().snapshot_id is None
    table = altered(table, options=BLOOM | {"file-index.bitmap.columns": "name,p"})
    assert table.rewrite_file_index().added_files == 2
    assert slots(live(table)[0], tmp_path) == {"id": {"bloom-filter"}, "name": {"bitmap"}, "p": {"bitmap"}}
    table = altered(table, options={"file-index.bitmap.columns": "p"})
    table.rewrite_file_index()
    assert slots(live(table)[0], tmp_path) == {"p": {"bitmap"}}
    table = altered(table, options={})
    assert table.rewrite_file_index().snapshot_id is None


def test_an_index_that_comes_back_does_not_take_its_file_away(tmp_path: Path) -> None:
    table = make(tmp_path, options=BLOOM)
    wider = BLOOM | {"file-index.bitmap.columns": "p"}
    beside = {"file-index.in-manifest-threshold": "10 b"}
    for options in (wider, BLOOM, wider, wider | beside, BLOOM | beside, wider, BLOOM | beside, BLOOM):
        table = altered(table, options=options)
        table.rewrite_file_index(rebuild=True)
        table.rewrite_file_index(rebuild=True)
        assert table.refresh().scan("id in (30, 70)").to_arrow()["id"].to_pylist() == [30, 70]
        for path in tmp_path.rglob("*.index"):  # as after an expiry: only what the latest snapshot needs is left
            if not any(path.name in entry["extra_files"] for entry in live(table)):
                path.unlink()
    assert table.refresh().scan().count() == 80
    assert not table.refresh().check(deep=True).problems


def test_settings_that_changed_take_a_rebuild(tmp_path: Path) -> None:
    table = make(tmp_path, options=BLOOM)
    table = altered(table, options=BLOOM | {"file-index.bloom-filter.id.items": "80"})
    before = live(table)[0]["embedded_file_index"]
    assert table.rewrite_file_index().snapshot_id is None
    assert table.rewrite_file_index(rebuild=True).added_files == 2
    assert len(live(table)[0]["embedded_file_index"]) > len(before)


def test_an_index_beside_its_file_gets_the_next_name_and_older_snapshots_keep_theirs(tmp_path: Path) -> None:
    table = make(tmp_path, options=BLOOM | {"file-index.in-manifest-threshold": "10 b"})
    names = [entry["extra_files"][0] for entry in live(table)]
    table = altered(table, options=table.schema.options | {"file-index.bitmap.columns": "p"})
    table.rewrite_file_index()
    entry = live(table)[0]
    assert entry["extra_files"] == [f"{entry['file_name']}-1.index"]
    assert all(list(tmp_path.rglob(name)) for name in names)
    assert table.at(snapshot_id=2).scan("id = 30").to_arrow().num_rows == 1


def test_only_partitions_that_match_are_touched(tmp_path: Path) -> None:
    table = altered(make(tmp_path, partition_by=["p"]), options=BLOOM)
    assert table.rewrite_file_index("p = 1").added_files == 2
    assert table.rewrite_file_index().added_files == 2


def test_renamed_and_widened_columns_are_indexed_as_the_file_has_them(tmp_path: Path) -> None:
    table = make(tmp_path)
    fields = tuple(replace(one, name="key") if one.name == "id" else one for one in table.schema.fields)
    table = altered(table, fields=fields, options={"file-index.bloom-filter.columns": "key"})
    table.rewrite_file_index()
    assert slots(live(table)[0], tmp_path) == {"id": {"bloom-filter"}}
    assert table.refresh().scan("key = 30").to_arrow()["key"].to_pylist() == [30]
    assert table.refresh().scan("key = 3000000").plan().file_count == 0


def test_deleted_rows_count_as_rows(tmp_path: Path) -> None:
    table = make(tmp_path, options={"deletion-vectors.enabled": "true"})
    table.delete("id in (0, 1, 50)")
    table = altered(table, options=table.schema.options | {"file-index.bitmap.columns": "id"})
    table.rewrite_file_index()
    assert table.refresh().scan("id in (2, 51, 1)").to_arrow()["id"].to_pylist() == [2, 51]
    assert not table.refresh().check(deep=True).problems


def test_a_primary_key_table_keeps_its_rows(tmp_path: Path) -> None:
    table = make(tmp_path, primary_key=["id"], options={"bucket": "1"})
    table.delete("id = 3")
    table = altered(table, options=table.schema.options | {"file-index.bitmap.columns": "name"})
    table.rewrite_file_index()
    assert table.refresh().scan("name in ('n3', 'n4')").to_arrow()["id"].to_pylist() == [4]
    assert table.refresh().scan().count() == 79


def test_a_compaction_in_between_makes_it_look_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = altered(make(tmp_path), options=BLOOM | {"file-index.in-manifest-threshold": "10 b"})
    original = rewrite_index._edit

    def edit_late(*arguments: object) -> object:
        monkeypatch.setattr(rewrite_index, "_edit", original)
        edit = original(*arguments)
        table.compact(full=True)
        return edit

    monkeypatch.setattr(rewrite_index, "_edit", edit_late)
    table.rewrite_file_index()
    (entry,) = live(table)
    assert [path.name for path in tmp_path.rglob("*.index")] == entry["extra_files"]
    assert table.refresh().scan("id = 30").to_arrow().num_rows == 1


def test_two_who_do_the_same_do_not_share_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = altered(make(tmp_path), options=BLOOM | {"file-index.in-manifest-threshold": "10 b"})
    original = rewrite_index._edit

    def edit_late(*arguments: object) -> object:
        monkeypatch.setattr(rewrite_index, "_edit", original)
        edit = original(*arguments)
        table.rewrite_file_index()
        return edit

    monkeypatch.setattr(rewrite_index, "_edit", edit_late)
    table.rewrite_file_index()
    assert table.refresh().scan("id = 30").to_arrow().num_rows == 1
    assert not table.refresh().check(deep=True).problems
    assert len(list(tmp_path.rglob("*.index"))) == 2


def test_options_that_make_no_sense_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    table = altered(make(tmp_path), options={"file-index.bitmap.columns": "nope"})
    with pytest.raises(InvalidInputError, match="column 'nope' does not exist"):
        table.rewrite_file_index()


def test_a_table_without_files_commits_nothing(tmp_path: Path) -> None:
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    assert warehouse.create_table("db.t", SCHEMA, options=BLOOM).rewrite_file_index().snapshot_id is None


def test_indexes_that_java_rebuilt_are_left_as_they_are() -> None:
    table = polynya.open_table(golden_table("fi_pk"))
    found = rewrite_index._entries(Target(table.root, table.schema), TRUE)
    schemas = {id: history.read_schema(table.root, id) for id in history.schema_ids(table.root)}
    work = rewrite_index.IndexWork(table.root.storage, table.schema, schemas)
    assert any(name.endswith("-1.index") for extra in found["extra_files"].to_pylist() for name in extra)
    assert rewrite_index.reindexed(work, found).num_rows == 0
