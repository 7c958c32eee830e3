"""The examples of the pages run; those that need Spark are run in tests/spark/test_docs.py."""

import pytest

from doc_pages import PAGES, has, require_like, run


@pytest.mark.parametrize("page", [page for page in PAGES if has(page, "python", "console")], ids=lambda page: page.name)
def test_the_examples_of_a_page_run_and_print_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(page, with_spark=False)


def test_what_a_page_shows_is_compared():
    require_like("a 12.5 ms\nb\n", "a … ms\nb\n", "here")
    with pytest.raises(AssertionError, match="here shows"):
        require_like("a\nb\n", "a\nc\n", "here")
