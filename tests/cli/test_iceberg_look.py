"""The looking verbs show Iceberg tables too."""

import json

import pytest
from typer.testing import CliRunner

from golden_iceberg import iceberg_expected, iceberg_names, iceberg_table
from polynya.cli.main import app

VERBS = ("show", "snapshots", "files", "manifests", "partitions", "schema", "read", "explain")


def run(*arguments):
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", ["types_v3", "dv_v3", "empty_v2", "nested_types"])
def test_a_verb_shows_an_iceberg_table(verb, name):
    run(verb, iceberg_table(name))
    for line in run(verb, iceberg_table(name), "--json").splitlines():
        json.loads(line)


@pytest.mark.parametrize("name", iceberg_names()[:8])
def test_files_and_rows_are_as_many_as_java_has(name):
    expected = iceberg_expected(name)
    assert len(run("files", iceberg_table(name), "--json").splitlines()) == len(expected["system"]["files"])
    assert len(run("read", iceberg_table(name), "--json").splitlines()) == expected["rowCount"]


def test_show_tells_the_format_and_the_refs():
    shown = run("show", iceberg_table("refs"))
    assert "Iceberg, format version 2" in shown
    assert "main" in shown
