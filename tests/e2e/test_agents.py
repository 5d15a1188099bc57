"""A whole run whose models are agents: real processes and training."""

import sys

from rewardgen.core.config import RunConfig
from rewardgen.llm.archive import read_archive
from rewardgen.report.page import report_html
from rewardgen.search.lifecycle import start
from tests.e2e.command import FEW, POINT
from tests.e2e.test_resuming import REPLY
from tests.search.parts import Listener


def test_agents_design_in_turn_and_the_report_tells_what_each_reached(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reply.txt").write_text(REPLY)
    for name, more in (("one", ""), ("two", " + '\\n'")):
        (tmp_path / f"{name}.py").write_text(f"import sys; print(open(sys.argv[1]).read(){more})")
    model = ",".join(f"agent:{sys.executable} {name}.py reply.txt" for name in ("one", "two"))
    config = RunConfig(task=str(POINT), model=model, films=False, **FEW | {"generations": 1})
    ended = start(config, tmp_path / "runs", Listener())
    html = report_html(ended.folder, ended.history)
    assert ended.exit_code == 0
    for name in ("one", "two"):
        assert f"Designed by agent:{sys.executable} {tmp_path / name}.py {tmp_path / 'reply.txt'}" in html
    assert {call.request.label for call in read_archive(ended.folder.calls)} >= {"g00-k0/designer/draft"}
    assert ended.history.usage.cost_usd is None
    assert ended.history.usage.estimated_tokens == ended.history.usage.tokens > 0
