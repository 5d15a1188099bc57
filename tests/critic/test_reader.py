"""A language model may object with evidence, and veto what no training can fix; nothing else that it says counts."""

import asyncio
import json

import pytest

from rewardgen.core.errors import CredentialsError
from rewardgen.critic.llm_review import Reader, parse_reading
from rewardgen.llm.litellm_client import LiteLLMClient
from rewardgen.store.records import Finding
from rewardgen.testing.scripted import ScriptedLLM
from rewardgen.testing.server import Answer, ChatServer
from tests.builders import card
from tests.critic.test_critic import candidate

ITEMS = ("task", "meaning", "leak", "loophole", "balance", "gradient")


def reply(*checks):
    """An answer to the whole checklist: what is not said passes."""
    said = {each.get("item") for each in checks}
    return partial(*checks, *({"item": item, "verdict": "pass"} for item in ITEMS if item not in said))


def partial(*checks):
    return json.dumps({"checks": list(checks)})


def check(item="meaning", verdict="veto", **more):
    return {"item": item, "verdict": verdict, "evidence": "line 2 takes degrees", **more}


def test_a_veto_names_line_component_and_mend():
    (finding,) = parse_reading(reply(check(line=2, component="near", fix="use radians")))
    assert (finding.gate, finding.detector, finding.severity) == ("model", "read-meaning", "reject")
    assert (finding.line, finding.component, finding.hint) == (2, "near", "use radians")


@pytest.mark.parametrize("item", ["loophole", "balance", "gradient"])
def test_what_training_will_tell_is_a_warning_even_if_it_is_called_a_veto(item):
    (finding,) = parse_reading(reply(check(item)))
    assert finding.severity == "warn"


def test_a_pass_adds_nothing():
    assert parse_reading(reply(check(verdict="pass"), check("task", "pass", evidence=""))) == ()


def missing(text):
    """What is told of a reply that says nothing else."""
    (finding,) = parse_reading(text)
    assert (finding.gate, finding.detector, finding.severity) == ("model", "no-reading", "warn")
    assert finding.hint
    return finding.message


@pytest.mark.parametrize("verdict", ["veto", "warn"])
def test_an_objection_without_evidence_does_not_count_and_says_so(verdict):
    assert f"its {verdict} on `meaning` comes without evidence" in missing(reply(check(verdict=verdict, evidence="")))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("looks good to me", "no JSON object"),
        ("{", "no JSON object"),
        ("{" * 5000 + "}", "no JSON object"),
        ("[]", "no JSON object"),
        ('{"a": 1}', "no list `checks`"),
        ('{"checks": 3}', "no list `checks`"),
        ('{"checks": []}', "no list `checks`"),
        ('{"checks": ["x", 1, null]}', "3 of the 3 entries"),
        ('{"checks": ["x", 1, null]}', "no answer on `task`, `meaning`, `leak`, `loophole`, `balance`, `gradient`"),
    ],
)
def test_a_reply_that_cannot_be_read_is_told_with_the_reason(text, reason):
    assert reason in missing(text)


def test_the_json_may_stand_in_a_code_fence_with_words_around_it():
    text = f"Here is my review:\n```json\n{reply(check())}\n```\nDone."
    assert len(parse_reading(text)) == 1


def test_words_with_braces_before_the_json_do_not_hide_it():
    (finding,) = parse_reading(f'The reward returns {{"speed": speed}} or {{}}.\n\n{reply(check())}\nDone {{now}}.')
    assert finding.severity == "reject"


@pytest.mark.parametrize("habit", [{"line": "3-5"}, {"line": [3, 4]}, {"verdict": "VETO"}, {"score": 10}], ids=str)
def test_habits_of_models_lose_no_veto(habit):
    (finding,) = parse_reading(reply(check(**habit)))
    assert (finding.severity, finding.line) == ("reject", None)


def test_entries_out_of_form_are_counted_and_the_rest_counts():
    found = parse_reading(reply(check("style"), check(verdict="maybe"), check()))
    assert [each.detector for each in found] == ["read-meaning", "no-reading"]
    assert "2 of the 8 entries" in found[1].message


@pytest.mark.parametrize("line", [0, -3, 10**300])
def test_a_line_that_no_source_has_is_dropped_and_the_objection_kept(line):
    assert [each.line for each in parse_reading(reply(check(line=line)))] == [None]


@pytest.mark.parametrize("field", ["evidence", "fix", "component"])
def test_half_a_character_that_json_holds_is_replaced(field):
    (finding,) = parse_reading(reply(check(**{field: "half \ud83d"})))
    assert finding.severity == "reject"
    finding.model_dump_json().encode()


def test_entries_beyond_any_checklist_are_not_read():
    found = parse_reading(partial(*[check(verdict="veto", evidence="")] * 5_000))
    assert len(found) < 40
    assert "entries in the reply are out of form" in found[0].message


@pytest.mark.parametrize("field", ["evidence", "fix"])
def test_long_texts_are_cut_and_the_veto_kept(field):
    (finding,) = parse_reading(reply(check(**{field: "x" * 10_000})))
    assert finding.severity == "reject"
    assert "x" * 600 in (finding.message, finding.hint)


def test_a_component_that_no_reward_can_have_is_dropped_and_the_veto_kept():
    (finding,) = parse_reading(reply(check(component="near, " * 20)))
    assert (finding.severity, finding.component) == ("reject", None)


@pytest.mark.parametrize("verdict", ["pass", "veto"])
def test_items_without_an_answer_are_named(verdict):
    *objections, finding = parse_reading(partial(check("task", verdict)))
    assert [each.detector for each in objections] == ([] if verdict == "pass" else ["read-task"])
    assert (finding.detector, finding.severity) == ("no-reading", "warn")
    assert "no answer on `meaning`, `leak`, `loophole`, `balance`, `gradient`" in finding.message


def read(answer, findings=()):
    llm = ScriptedLLM(answer)
    found = asyncio.run(Reader(llm).read(candidate("g00-k1"), card(), "gently", findings))
    return found, llm.requests[0]


def test_the_model_sees_the_numbered_code_the_task_the_goal_and_what_was_noticed_before():
    noticed = Finding(gate="probe", detector="dead-component", severity="warn", message="`calm` is dead")
    found, request = read(reply(check()), [noticed])
    said = request.messages[-1].content
    assert len(found) == 1 and request.label == "g00-k1/critic/reading-0"
    assert "  2      return {'near'" in said and "gently" in said and "`calm` is dead" in said
    assert "Share of the time" in said  # the words of the fitness, whose code is not there


def served(answer):
    """What comes of a reading by a model behind a real server that answers so."""
    with ChatServer(answer) as server:
        llm = LiteLLMClient("openai/local-model", api_base=server.api_base, timeout_s=60.0)
        return asyncio.run(Reader(llm).read(candidate("g00-k1"), card(), "", ()))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer("the model is overloaded", status=503), "the call failed: call of openai/local-model failed"),
        (Answer(text=None), "the call failed: "),
        (Answer(body=b"<html>gateway</html>"), "the call failed: "),
        (Answer("I cannot review that."), "no JSON object"),
    ],
)
def test_a_reading_that_fails_on_the_wire_is_no_silent_approval(answer, reason):
    (finding,) = served(answer)
    assert (finding.detector, finding.severity) == ("no-reading", "warn")
    assert reason in finding.message and finding.hint


def test_a_refused_key_is_raised():
    with pytest.raises(CredentialsError):
        served(Answer("bad key", status=401))
