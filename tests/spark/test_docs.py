"""The examples of the pages that need Spark."""

import pytest

from doc_pages import PAGES, has, run

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("page", [page for page in PAGES if has(page, "python spark")], ids=lambda page: page.name)
@pytest.mark.usefixtures("spark")
def test_the_examples_of_a_page_run_with_spark(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(page, with_spark=True)
