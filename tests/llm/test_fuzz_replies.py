"""Replies that no model would write: reading one raises nothing, takes little time, and leaves what files can keep.

Every text is made from a seed and a number, so that one that fails can be made again.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from random import Random

import pytest

from rewardgen.analyzer.predictions import claims
from rewardgen.core.formatting import first_sentence
from rewardgen.critic.llm_review import parse_reading
from rewardgen.designer.llm_designer import parse_reply
from rewardgen.llm.prompts import designer_messages, repair_messages
from rewardgen.search.requests import failed_ideas
from rewardgen.store.messages import Message, Reply
from rewardgen.store.ranking import Ranking
from rewardgen.store.records import Candidate, CandidateRecord, DesignRequest, Finding, Verdict
from tests.builders import card

LONGEST = 100_000
"""Characters of a text."""

LIMIT_S = 1.0
"""Processor time that reading a text of this length may take [s]."""

RECORDED = [path.read_text() for path in sorted((Path(__file__).parent.parent / "recorded").rglob("*.md"))]
READING = json.dumps(
    {"checks": [{"item": "task", "verdict": "veto", "line": 3, "evidence": "degrees", "fix": "radians"}]}
)

_PIECES = (
    "DIAGNOSIS|DIAGNOSIS:|PREDICTION: |**Diagnosis**:|```|~~~|````|`|~|>|> |async |def f(|import torch\n",
    "def compute_reward|def compute_reward(speed):\n|    return {'a': speed}\n|```python\n|===== system =====\n",
    "fitness|success rate|share[|mean[x]|ending[|]|>=|<|≤|1|0.5|e9|%|.|-|+|0x|999999999999999999999999999999",
    '{|}|[|]|(|)|"|\'|:|,|null|\\|\\ud83d|\\u0000|{"checks": [|{"item": "task"}|"""',
    " |  |\t|\n|\n\n|\r|\r\n|#|*|_|=|a|x1|word ",
    "\x00|\x07|\x1b[31m|\x1b]0;t\x07|\x85|\u2028|\u202e|\u200b|\ufeff|\ud83d|\ude00|😀|é|\U000e0041",
    "lambda:|not |1if 1else |f'{|}'|**|//|@|;|else:|if x:\n|\\\n",
)
PIECES = [piece for line in _PIECES for piece in line.split("|")]


def text(seed: int, number: int) -> str:
    """The text of a number.

    Args:
        seed: Of the whole series.
        number: Of the text in it.
    """
    random = Random(f"{seed}/{number}")
    made = random.choice((_runs, _nested, _soup, _mutant, _json))(random)
    return made[: random.choice((LONGEST, LONGEST, LONGEST, 10_000))]


def _run(random: Random, longest: int) -> str:
    unit = "".join(random.choices(PIECES, k=random.choice((1, 1, 1, 2, 3))))
    return unit * random.randint(1, max(1, longest // len(unit)))


def _runs(random: Random) -> str:
    """A few pieces, each repeated up to the whole length: what quadratic patterns are slow on."""
    return "".join(_run(random, random.choice((1, 100, LONGEST))) for _ in range(random.randint(1, 6)))


def _nested(random: Random) -> str:
    opening, closing = _run(random, 20), _run(random, 20)
    depth = random.randint(1, LONGEST // (len(opening) + len(closing)) + 1)
    return random.choice(PIECES) + opening * depth + random.choice(PIECES) + closing * depth


def _soup(random: Random) -> str:
    return "".join(random.choices(PIECES, k=random.choice((100, 20_000))))


def _mutant(random: Random) -> str:
    """A real reply with pieces put in, cut out and moved."""
    made = random.choice(RECORDED)
    for _ in range(random.randint(1, 12)):
        start, end = sorted(random.choices(range(len(made) + 1), k=2))
        middle = random.choice(("", made[start:end] * 2, _run(random, 200), _run(random, LONGEST)))
        made = made[:start] + middle + made[random.choice((start, end)) :]
    return made


def _json(random: Random) -> str:
    """A reading of the critic with values that it has no place for."""
    values = ["task", "veto", "\ud83d", "\x1b", 10**400, -1, 1e308, None, True, [], {}, "x" * 50_000, ["x"] * 9999]
    names = ["item", "verdict", "line", "component", "evidence", "fix", "checks", "\udead"]
    entries = [
        {random.choice(names): random.choice(values) for _ in range(6)} for _ in range(random.choice((1, 9, 400)))
    ]
    made = json.dumps({"checks": entries}, ensure_ascii=random.random() < 0.5)
    return made if random.random() < 0.5 else made.replace(random.choice(PIECES), random.choice(PIECES))


def read(told: str) -> None:
    """Go every way that a reply goes in the orchestrator: taken apart, recorded, shown, and told again.

    Args:
        told: What a provider says.
    """
    reply = Reply(text=told, model=told[:100]).text
    parts = parse_reply(reply)
    failure = "" if parts.source else f"the reply holds no code; it begins: {reply[:80]}"
    made = {"source": parts.source, "diagnosis": parts.diagnosis, "prediction": parts.prediction, "failure": failure}
    candidate = Candidate(id="g00-k0", generation=0, operator="draft", **made)
    findings = (*parse_reading(reply), Finding(gate="parse", detector="x", severity="reject", message="no", line=2))
    record = CandidateRecord(candidate=candidate, verdict=Verdict(candidate_id="g00-k0", findings=findings))
    for kept in (Candidate.model_validate_json(candidate.model_dump_json()), candidate):
        assert kept == candidate
    record.model_dump_json().encode()
    claims(reply)
    first_sentence(candidate.diagnosis).encode()
    request = DesignRequest(
        candidate_id="g01-k0",
        generation=1,
        operator="edit",
        card=card(),
        parents=(record,),
        failed_ideas=failed_ideas([record], Ranking()),
    )
    for message in (*designer_messages(request), *repair_messages(request, candidate, findings)):
        assert Message.model_validate_json(message.model_dump_json()) == message


def seconds(told: str) -> float:
    """Processor time that reading a text takes [s]."""
    started = time.process_time()
    read(told)
    return time.process_time() - started


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_replies_that_no_model_would_write_are_read_without_an_exception_and_soon(seed):
    spent = {number: seconds(text(seed, number)) for number in range(20)}
    assert {number: each for number, each in spent.items() if each > LIMIT_S} == {}
