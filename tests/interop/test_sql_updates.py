"""An update of polynya leaves the rows that the same UPDATE of Flink SQL leaves."""

import pytest

from interop import twins
from interop.arrow_rows import arrow_rows
from interop.twins import Case, rows_of

KINDS = {
    "deduplicate": {},
    "partial-update": {"merge-engine": "partial-update"},
    "descending": {"sequence.field.sort-order": "descending"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_with_a_larger_sequence_field_outlives_an_update(java, tmp_path, kind):
    options = {"bucket": "1", "sequence.field": "s"} | KINDS[kind]
    case = Case(
        {"k": "INT", "s": "INT", "v": "STRING"}, [[[1, 5, "a"], [2, 5, "b"], [3, None, "c"]]], ["k"], (), options
    )
    ours, twin = twins.create_ours(tmp_path, case), twins.create_twin(java, tmp_path, case)
    ours.write(arrow_rows(case.commits[0], case.fields))
    twin.write(case.commits[0])
    for key, sequence in ((1, 3), (2, 9), (3, 0)):
        ours.update({"s": sequence, "v": "'new'"}, f"k = {key}")
        java.sql(tmp_path, f"UPDATE `java`.t SET s = {sequence}, v = 'new' WHERE k = {key}")
        assert rows_of(ours.refresh()) == twin.rows()
    assert {row[0] for row in twin.rows() if row[2] == "new"} == ({1, 3} if kind == "descending" else {2, 3})
