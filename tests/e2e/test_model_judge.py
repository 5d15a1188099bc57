"""A whole run whose judge is a language model, over real HTTP, and goes on later."""

from rewardgen.testing.server import Answer, ChatServer
from tests.e2e.command import POINT, SHORTER, history, rewardgen


def test_a_run_counts_the_calls_of_its_judge_and_repeats_none_when_it_goes_on(tmp_path):
    with ChatServer(lambda number, body: Answer("ANSWER: same\nBECAUSE: both stay")) as server:
        options = ("--judge", "reader:openai/judge", "--api-base", server.api_base, "--answers", "1", "--goal", "stay")
        done = rewardgen("run", str(POINT), *SHORTER, *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "no effect" not in done.stderr and len(server.bodies) == 2
        told = history(tmp_path)
        assert [each.answer for each in told.comparisons] == ["same"] and told.usage.calls == 2
        assert all("> stay" in body["messages"][1]["content"] for body in server.bodies)
        done = rewardgen("resume", "latest", "--generations", "1", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert len(history(tmp_path).comparisons) == 2 and len(server.bodies) == 4
