"""The verbs that deal with rows: read, explain, check, write, compact."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

import polynya
from polynya.api import Scan
from polynya.cli.look import SHOWN_ROWS, View
from polynya.cli.printing import Listing, console, json_values, plural, print_json, print_json_rows, print_listing
from polynya.errors import InvalidInputError, NotFoundError
from polynya.table.commit import Commit


def read(view: View, where: str | None, columns: str | None, limit: int | None, as_json: bool) -> None:
    """Rows of the table: all of them as JSON lines, or the first ones as a table."""
    if as_json:
        for batch in _cut(_scan(view, where, columns, limit).to_batches(), limit):
            print_json_rows(pa.Table.from_batches([batch]))
        return
    most = SHOWN_ROWS if limit is None else limit
    scan = _scan(view, where, columns, most + 1 if limit is None else most)
    batches = list(_cut(scan.to_batches(), most + 1))
    found = pa.Table.from_batches(batches, batches[0].schema) if batches else None
    names = [field.name for field in scan.plan().fields]
    rows = _rows(found.slice(0, most)) if found is not None else []
    numbers = frozenset(one.name for one in found.schema if pa.types.is_integer(one.type)) if found is not None else ()
    more = found is not None and limit is None and found.num_rows > most
    print_listing(
        Listing(names, rows, frozenset(numbers)), "there are more; --limit shows more of them" if more else None
    )


def _scan(view: View, where: str | None, columns: str | None, limit: int | None) -> Scan:
    names = None if columns is None else [name.strip() for name in columns.split(",")]
    return view.open().scan(where=where, columns=names, limit=limit)


def _cut(batches: Iterator[pa.RecordBatch], limit: int | None) -> Iterator[pa.RecordBatch]:
    """The first `limit` rows."""
    left = limit
    for batch in batches:
        if left is not None and left <= batch.num_rows:
            yield batch.slice(0, left)
            return
        left = None if left is None else left - batch.num_rows
        yield batch


def _rows(found: pa.Table) -> list[tuple[str, ...]]:
    columns = (map(_text, json_values(column.combine_chunks())) for column in found.columns)
    return list(zip(*columns, strict=True))


def _text(value: object) -> str:
    """A value for people: texts as they are, all else as JSON has it."""
    return value if isinstance(value, str) else "NULL" if value is None else json.dumps(value, ensure_ascii=False)


def explain(view: View, where: str | None, columns: str | None, as_json: bool) -> None:
    """What a read would open, and what it skips."""
    plan = _scan(view, where, columns, None).plan()
    if not as_json:
        console().print(plan.explain(), soft_wrap=True)
        return
    pruned = plan.pruned
    print_json(
        {
            "location": plan.location,
            "snapshot": None if plan.snapshot is None else plan.snapshot.id,
            "columns": plan.columns,
            "filter": None if plan.predicate is None else str(plan.predicate),
            "manifest_count": pruned.manifest_count,
            "manifests_skipped": pruned.manifests_skipped,
            "entry_count": pruned.entry_count,
            "live_file_count": pruned.live_file_count,
            "files_skipped": pruned.files_skipped,
            "split_count": len(plan.splits),
            "file_count": plan.file_count,
            "size_bytes": plan.size_bytes,
            "row_count": plan.row_count,
        }
    )


def check(view: View, deep: bool, as_json: bool) -> bool:
    """Whether the table is sound; prints what is not, and how to repair it."""
    report = view.open().check(deep=deep)
    if as_json:
        problems = [{"what": one.what, "where": one.where, "repair": one.repair} for one in report.problems]
        print_json({"sound": not problems, "problems": problems})
        return not problems
    out = console()
    for problem in report.problems:
        out.print(f"{problem.where}: {problem.what}", soft_wrap=True)
        out.print(f"  repair: {problem.repair}", soft_wrap=True)
    out.print(f"{plural(len(report.problems), 'problem')} found" if report.problems else "sound: no problem found")
    return not report.problems


def write(path: str, source: str, mode: str, rowkind: str | None, as_json: bool) -> None:
    """Rows of a Parquet, CSV or JSON file into the table, in one commit."""
    table = polynya.open_table(path)
    rows = _source_rows(Path(source), table.arrow_schema, rowkind)
    _print_commit(table.write(rows, mode, rowkind=rowkind), as_json)


def compact(path: str, full: bool, where: str | None, dry_run: bool, as_json: bool) -> None:
    """Files put together where it is due; or what that would do."""
    made = polynya.open_table(path).compact(full=full, where=where, dry_run=dry_run)
    if isinstance(made, Commit):
        _print_commit(made, as_json)
    elif as_json:
        facts = {"file_count": made.file_count, "size_bytes": made.size_bytes, "task_count": len(made.tasks)}
        print_json(facts)
    else:
        console().print(str(made), soft_wrap=True)


def _print_commit(made: Commit, as_json: bool) -> None:
    if as_json:
        print_json(_commit_facts(made))
    elif made.snapshot_id is None:
        console().print("nothing to commit")
    else:
        files = f"{plural(made.added_files, 'file')} added, {made.deleted_files:,} deleted"
        console().print(f"snapshot {made.snapshot_id} {made.commit_kind}: {plural(made.record_count, 'row')}, {files}")


def _commit_facts(made: Commit) -> dict[str, object]:
    names = ("snapshot_id", "commit_kind", "added_files", "deleted_files", "record_count")
    return {name: getattr(made, name) for name in names}


def _source_rows(path: Path, wanted: pa.Schema, rowkind: str | None) -> pa.Table:
    """The rows of the file; texts are read with the types of the table."""
    if not path.is_file():
        raise NotFoundError(f"{path} does not exist, or is no file")
    if rowkind is not None and rowkind not in wanted.names:
        wanted = wanted.append(pa.field(rowkind, pa.string()))
    try:
        return _READERS[path.suffix.lower()](path, wanted)
    except KeyError:
        raise InvalidInputError(f"{path}: expected a name that ends with {', '.join(_READERS)}") from None
    except pa.ArrowException as error:
        raise InvalidInputError(f"{path} cannot be read: {error}") from None


def _read_parquet(path: Path, wanted: pa.Schema) -> pa.Table:
    import pyarrow.parquet as pq  # noqa: PLC0415 - only this verb reads such files

    return pq.ParquetFile(path).read()


def _read_csv(path: Path, wanted: pa.Schema) -> pa.Table:
    from pyarrow import csv  # noqa: PLC0415 - only this verb reads such files

    types = {field.name: field.type for field in wanted}
    return csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=types, strings_can_be_null=True))


def _read_json(path: Path, wanted: pa.Schema) -> pa.Table:
    from pyarrow import json as lines  # noqa: PLC0415 - only this verb reads such files

    # JSON has no times, decimals and bytes: they stand in texts.
    plain = pa.schema([field.with_type(pa.string()) if _is_text(field.type) else field for field in wanted])
    found = lines.read_json(path, parse_options=lines.ParseOptions(explicit_schema=plain))
    types = [wanted.field(one.name).type if one.name in wanted.names else one.type for one in found.schema]
    return found.cast(pa.schema(list(zip(found.column_names, types, strict=True))))


def _is_text(type: pa.DataType) -> bool:
    return pa.types.is_temporal(type) or pa.types.is_decimal(type) or pa.types.is_binary(type)


_READERS = {".parquet": _read_parquet, ".csv": _read_csv, ".json": _read_json, ".jsonl": _read_json}
