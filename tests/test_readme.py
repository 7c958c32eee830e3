import re
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "README.md"


def test_the_example_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, str(PAGE), "exec"), {})
    assert "25" in capsys.readouterr().out
