"""What an Iceberg table does not do is refused by name, and nothing is written."""

import shutil

import pytest

import polynya
from golden_iceberg import iceberg_table
from iceberg_rows import open_golden
from polynya.api import Table
from polynya.api.iceberg import IcebergTable

READS = {"refresh", "at", "branch", "scan", "system"}
CALLS = sorted(
    name for name, one in vars(Table).items() if callable(one) and not name.startswith("_") and name not in READS
)


@pytest.mark.parametrize("name", [one for one in CALLS if one != "compact_manifests"])
def test_a_call_that_does_not_read_is_refused(name):
    with pytest.raises(polynya.UnsupportedError, match="is an Iceberg table"):
        getattr(open_golden("v2_plain"), name)()


def test_every_call_of_a_table_is_either_refused_or_an_icebergs_own():
    assert [name for name in (*CALLS, *READS) if name not in vars(IcebergTable)] == []


def test_a_table_is_opened_by_its_metadata_file_and_stays_there():
    path = iceberg_table("v2_plain") / "metadata" / "v2.metadata.json"
    table = polynya.open_table(path)
    assert table.scan().count() < open_golden("v2_plain").scan().count()
    assert table.refresh().snapshot == table.snapshot


@pytest.mark.parametrize("hint", [b"1", b"99", b"nonsense", None])
def test_the_newest_metadata_is_found_whatever_the_hint_says(tmp_path, hint):
    folder = tmp_path / "t"
    shutil.copytree(iceberg_table("v2_plain"), folder)
    file = folder / "metadata" / "version-hint.text"
    file.unlink() if hint is None else file.write_bytes(hint)
    assert polynya.open_table(folder).scan().count() == 4


def test_a_folder_without_either_kind_of_table_says_so(tmp_path):
    with pytest.raises(polynya.NotFoundError, match=r"is not a Paimon table.*and no Iceberg table"):
        polynya.open_table(tmp_path)
