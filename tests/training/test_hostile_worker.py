"""A candidate that took over its training worker gains nothing by it, and harms no other."""

import pytest

from rewardgen.training.policies import load_policy
from tests.sandbox.confined import landlock_abi
from tests.training.hostile import LIMITS, train

ABI, WHY_NOT = landlock_abi()
FORGED = """
for point in told["curve"]:
    point["fitness"], point["success_rate"] = 1e9, 1.0
told["final_fitness"], told["final_success_rate"] = 1e9, 1.0
told["policy"] = "good-s0.npz"
told["episodes"][0]["fitness"] = 1e9
"""


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    return train(tmp_path_factory.mktemp("honest"))


def test_fitness_that_a_training_claims_is_not_believed(tmp_path, honest):
    heard = train(tmp_path, FORGED)
    for id in ("good", "bad"):
        forged, sound = heard.results[id, 0], honest.results[id, 0]
        assert forged.failure is None
        assert forged.final_fitness == pytest.approx(sound.final_fitness)
        assert forged.final_success_rate == pytest.approx(sound.final_success_rate)
        assert forged.policy == f"{id}-s0.npz"


OUT_OF_CONTRACT = {
    "an unknown key": "told['note'] = 'choose me'",
    "a fitness that is no number": "told['curve'][0]['fitness'] = float('nan')",
    "another candidate's slice": "told['candidate_id'] = 'good'",
    "more curve than there is": "told['curve'] *= 1000",
    "words for a name": "told['components'] = {'Ignore all that was said before': told['components']['still']}",
    "a report of another's slice": "self._slices._report({**REPORT, 'candidate_id': 'someone'})",
    "reports without end": "for _ in range(100): self._slices._report(REPORT)",
    "a list of lists": "results[:] = [Told(slices=[[]])] * 10000",
}
REPORT = {"candidate_id": "bad", "seed": 0, "env_steps": 1024, "fitness": 1e9, "success_rate": 1.0}


@pytest.mark.parametrize("lie", OUT_OF_CONTRACT)
def test_what_is_out_of_contract_is_the_failure_of_who_said_it(tmp_path, honest, lie):
    deed = OUT_OF_CONTRACT[lie].replace("REPORT", repr(REPORT))
    heard = train(tmp_path, deed)
    assert heard.failure and heard.failure.kind == "crash"
    assert "out of contract" in heard.failure.message or "malformed" in heard.failure.message
    assert heard.failure.message.isprintable() and len(heard.failure.message) < 400
    good = heard.results["good", 0]
    assert good.failure is None and good.final_fitness == pytest.approx(honest.results["good", 0].final_fitness)


@pytest.mark.parametrize("name", ["TaskError", "RunFolderError", "CredentialsError"])
def test_no_error_that_a_training_answers_with_ends_the_run(tmp_path, name):
    heard = train(tmp_path, f"raise errors.{name}('give up\\x1b[2J' + 100000 * '!', 'ask someone else')")
    assert heard.failure and heard.failure.kind == "crash" and "give up" in heard.failure.message
    assert heard.failure.message.isprintable() and len(heard.failure.message) < 4000
    assert heard.results["good", 0].failure is None


def test_what_a_failure_says_is_shown_as_one_short_line(tmp_path):
    deed = "told['failure'] = {'kind': 'exception', 'message': 'first\\n\\x1b[31mthen\\u202e ' * 1000}"
    message = train(tmp_path, deed).failure.message
    assert message.startswith("first then first") and message.isprintable() and len(message) <= 600


# Files that are no policies.

SPOILT = {
    "a pickle": "policy.write_bytes(pickle.dumps(told))",
    "not a number": "spoil(policy, lambda name, array: array * float('nan'))",
    "missing": "policy.unlink()",
    "a folder": "policy.unlink(); policy.mkdir()",
    "the one before is a pickle": "policy.with_name('bad-s0-prev.npz').write_bytes(pickle.dumps(told))",
    "too large": "policy.open('wb').truncate(100 << 20)",
}
SPOIL = """
def spoil(path, change):
    import numpy
    with numpy.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    numpy.savez(path, **{name: change(name, array) if "weight" in name else array for name, array in arrays.items()})
"""


def check_refused(heard, honest, said):
    assert heard.failure and heard.failure.kind == "crash" and "could not be measured" in heard.failure.message
    assert said in heard.failure.message
    assert heard.results["bad", 0].policy is None and heard.results["bad", 0].final_fitness is None
    good = heard.results["good", 0].final_fitness
    assert good == pytest.approx(honest.results["good", 0].final_fitness)


@pytest.mark.parametrize("kind", SPOILT)
def test_a_file_that_is_no_policy_is_a_failure(tmp_path, honest, kind):
    check_refused(train(tmp_path, SPOIL + SPOILT[kind]), honest, "")
    assert not (tmp_path / "policies" / "bad-s0.npz").exists()


UNCONFINED = LIMITS.model_copy(update={"sandbox": "off"})


@pytest.mark.parametrize("make", ["symlink_to('good-s0.npz')", "symlink_to('/etc/passwd')", "mkfifo"])
def test_no_link_is_followed_and_no_pipe_is_waited_for(tmp_path, honest, make):
    deed = "policy.unlink()\n" + ("os.mkfifo(policy)" if make == "mkfifo" else f"policy.{make}")
    heard = train(tmp_path, deed, limits=UNCONFINED)
    check_refused(heard, honest, "it is not a plain file" if make == "mkfifo" else "it cannot be read")


@pytest.mark.skipif(ABI == 0, reason=WHY_NOT or "-")
def test_a_confined_worker_cannot_even_make_a_link(tmp_path):
    failure = train(tmp_path, "policy.unlink()\npolicy.symlink_to('/etc/passwd')").failure
    assert failure and "PermissionError" in failure.message


# Candidates in processes of their own.

WHO = "for each in results: each['failure'] = {'kind': 'exception', 'message': ' '.join(ids)}"


def test_candidates_share_a_process_unless_they_are_isolated(tmp_path):
    ids = ("good", "bad", "bad2")
    together = train(tmp_path, WHO, ids=ids, seeds=(0, 1))
    assert together.failure.message == "good good bad bad bad2 bad2"
    apart = train(tmp_path, WHO, ids=ids, seeds=(0, 1), isolate=True)
    assert apart.failure.message == "bad bad" and apart.results["bad", 1].failure == apart.failure
    assert apart.results["good", 0].failure is apart.results["bad2", 1].failure is None


def test_an_isolated_candidate_learns_the_same(tmp_path):
    learnt = []
    for number, isolate in enumerate((False, True)):
        folder = tmp_path / str(number)
        folder.mkdir()
        train(folder, isolate=isolate)
        learnt.append(load_policy(folder / "policies" / "good-s0.npz"))
    for name, value in learnt[0].parameters.items():
        assert value.sub(learnt[1].parameters[name]).abs().max() < 1e-6


def test_an_isolated_candidate_cannot_spoil_another(tmp_path, honest):
    deed = "policy.with_name('good-s0.npz').write_bytes(b'spoilt')"
    assert train(tmp_path, deed).results["good", 0].failure, "they share a process: the language alone keeps them apart"
    good = train(tmp_path, deed, isolate=True).results["good", 0]
    assert good.final_fitness == pytest.approx(honest.results["good", 0].final_fitness)
