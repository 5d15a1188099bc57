import pytest

from rewardgen.core.errors import RunFolderError
from rewardgen.llm.archive import ArchivedLLM, read_archive
from rewardgen.llm.factory import RetryingLLM
from rewardgen.llm.protocol import CallFailed, CallRefused
from rewardgen.llm.replay import ReplayLLM, differing
from rewardgen.store.messages import VERDICT, Usage
from rewardgen.testing.scripted import ScriptedLLM
from tests.llm.requests import ask, ask_one, request


def recorded(folder, *requests, answer=lambda request: f"reply to {request.label}"):
    ask(ArchivedLLM(ScriptedLLM(answer), folder), *requests)
    return ReplayLLM(folder)


def test_recorded_request_gets_its_reply_at_no_cost(tmp_path):
    replay = recorded(tmp_path, request("a"), request("b"))
    assert [reply.text for reply in ask(replay, request("b"), request("a"))] == ["reply to b", "reply to a"]
    assert ask_one(replay, request("a")).usage == Usage()


def test_call_that_failed_when_recorded_fails_again(tmp_path):
    recorded(tmp_path, request("b"))
    replay = recorded(tmp_path, request("a"), answer=CallFailed("timed out"))
    with pytest.raises(CallFailed) as caught:
        ask_one(replay, request("a"))
    assert "timed out" in caught.value.message
    assert not caught.value.transient


def test_run_without_a_single_answer_is_not_replayed(tmp_path):
    with pytest.raises(RunFolderError, match="nothing to replay: timed out"):
        recorded(tmp_path, request("a"), answer=CallFailed("timed out"))


def test_call_that_was_refused_when_recorded_is_refused_again(tmp_path):
    recorded(tmp_path, request("b"))
    replay = recorded(tmp_path, request("a"), answer=CallRefused("the prompt is too long"))
    with pytest.raises(CallRefused, match="the prompt is too long"):
        ask_one(replay, request("a"))


@pytest.mark.parametrize("changes", [{"content": "new line"}, {"content": "old line", "temperature": 0.5}])
def test_request_that_differs_gets_the_reply_of_its_label_which_is_told(tmp_path, changes):
    replay = recorded(tmp_path / "old", request("a", content="old line"), request("b"))
    ask(ArchivedLLM(replay, tmp_path / "new"), request("a", **changes), request("b"))
    told = {call.request.label: call.reply for call in read_archive(tmp_path / "new")}
    assert told["a"].text == "reply to a" and told["a"].model.endswith("a request that differs: a")
    assert differing(tmp_path / "new") == 1 and differing(tmp_path / "old") == 0


def test_a_verdict_is_not_given_for_other_episodes_than_it_was_of(tmp_path):
    replay = recorded(tmp_path, request(VERDICT, content="it hovers"))
    assert ask_one(replay, request(VERDICT, content="it hovers")).text
    with pytest.raises(CallRefused, match="other episodes"):
        ask_one(replay, request(VERDICT, content="it falls"))


def test_design_by_another_operator_stands_for_that_of_the_same_candidate(tmp_path):
    replay = recorded(
        tmp_path, *map(request, ["g01-k1/designer/repair-1", "g01-k1/designer/edit", "g01-k2/designer/add"])
    )
    reply = ask_one(replay, request("g01-k1/designer/tune"))
    assert reply.text == "reply to g01-k1/designer/edit" and reply.model.endswith("differs: g01-k1/designer/edit")


@pytest.mark.parametrize("unknown", ["g00-k7/designer/draft", "g00-k1/designer/repair-1", "g00-k1/critic/reading-0"])
def test_label_that_nothing_stands_for_is_refused_with_the_nearest_one(tmp_path, unknown):
    replay = recorded(tmp_path, request("g00-k1/designer/draft"))
    with pytest.raises(CallRefused) as caught:
        ask_one(replay, request(unknown))
    assert unknown in caught.value.message
    assert unknown.endswith("reading-0") or "g00-k1/designer/draft" in caught.value.hint


def test_run_without_calls_cannot_be_replayed(tmp_path):
    with pytest.raises(RunFolderError):
        ReplayLLM(tmp_path)


def test_call_that_failed_for_good_is_told_in_the_same_words_when_replayed(tmp_path):
    def failure(llm):
        with pytest.raises(CallFailed) as caught:
            ask_one(RetryingLLM(llm), request("a"))
        return caught.value.message

    attempts = iter(range(99))
    recorded(tmp_path, request("b"))
    recording = ArchivedLLM(ScriptedLLM(lambda _: CallFailed(f"fault {next(attempts)}")), tmp_path)
    assert failure(recording) == failure(ReplayLLM(tmp_path)) == "fault 5"
