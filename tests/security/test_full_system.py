"""All layers together: none of the attacks has any effect, wherever one looks."""

import sys
import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from tests.sandbox.confined import SECRET, World, left_behind
from tests.security import effects, host
from tests.security.corpus import ATTACKS, each_and_every_trainer, over_the_matrix, selected
from tests.security.pipeline import HONEST, STAGES, run_all

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason=f"what is attacked is Linux, this is {sys.platform}")
PLAYED = [name for name, attack in ATTACKS.items() if attack.kind != "hang"]


def things(world):
    """Everything outside of the worker's own folder, with what it holds and who may do what with it."""
    return {
        str(path): (status.st_mode, status.st_mtime, status.st_uid, path.read_bytes() if path.is_file() else b"")
        for path in sorted(world.outside.rglob("*"))
        for status in [path.lstat()]
    }


@pytest.fixture(scope="module")
def pipelines(request, tmp_path_factory):
    """From a trainer to what became of the attacks that trained with it."""
    with pytest.MonkeyPatch.context() as patch, ExitStack() as worlds:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("API_KEY", SECRET)

        @cache
        def run(trainer):
            world = World(Path(worlds.enter_context(tempfile.TemporaryDirectory(prefix="rg-"))).resolve())
            worlds.callback(world.close)
            return run_all(world, tmp_path_factory.mktemp("runs"), selected(request, trainer), trainer, things(world))

        yield run


@pytest.fixture
def pipeline(request, pipelines):
    return pipelines(request.param)


@each_and_every_trainer(ATTACKS)
def test_no_attack_has_an_effect(name, pipeline):
    assert not ATTACKS[name].seen(pipeline.seen(name)), pipeline.seen(name)


@each_and_every_trainer(ATTACKS)
def test_it_is_refused_no_later_than_the_page_says(name, pipeline):
    assert STAGES.index(pipeline.stage(name)) <= STAGES.index(ATTACKS[name].gate), pipeline.verdicts[name]


@each_and_every_trainer(PLAYED)
def test_nothing_that_a_process_shares_is_touched(name, pipeline):
    told = pipeline.played.told[name]
    assert told["globals"] == [] and told["state_at"] is None
    assert told["fitness"] == host.HONEST_FITNESS and not told["rival"] and not told["odd"] and not told["aliased"]


@each_and_every_trainer([name for name in PLAYED if ATTACKS[name].gate in ("source", "probe")])
def test_what_is_refused_fails_in_training_too_if_no_critic_has_seen_it(name, pipeline):
    result = pipeline.unreviewed[name]
    assert ATTACKS[name].gate == "probe" or (result.failure and result.final_fitness is None)


@over_the_matrix
def test_the_world_outside_is_as_it_was(whole, pipeline):
    world = pipeline.world
    assert things(world) == pipeline.before
    assert not world.was_called(world.tcp) and not world.was_called(world.local)
    assert not world.was_called(world.abstract) and not world.got_mail()
    assert not world.victim_is_harmed()
    (pid,) = {told["pid"] for told in pipeline.played.told.values()}
    assert not left_behind(pid)


@over_the_matrix
def test_no_secret_comes_out_of_any_process(whole, pipeline):
    everything = f"{pipeline.verdicts} {pipeline.trained} {pipeline.unreviewed} {pipeline.played}"
    assert SECRET not in everything and host.RIVAL_NOTE not in everything


@over_the_matrix
def test_nobody_forges_an_answer_or_a_message(whole, pipeline):
    assert not effects.answer_forged(pipeline.played) and pipeline.played.messages == ()


@over_the_matrix
def test_an_honest_candidate_has_the_same_numbers_beside_attacks_and_beside_its_like(whole, pipeline):
    if pipeline.on_a_gpu:
        pytest.skip("repeated trainings on a GPU need not have the same bits")
    beside, undisturbed = pipeline.trained[HONEST], pipeline.undisturbed
    assert undisturbed.failure is None and undisturbed.final_fitness is not None
    assert (beside.final_fitness, beside.final_success_rate) == (
        undisturbed.final_fitness,
        undisturbed.final_success_rate,
    )
    assert beside.curve == undisturbed.curve
