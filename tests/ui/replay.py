"""Plays the story on this terminal's live screen: `python -m tests.ui.replay`."""

import time

from rewardgen.store.history import History
from rewardgen.ui.console import messages
from rewardgen.ui.screen import Screen
from tests.ui.story import events

history = History()
with Screen(messages()) as screen:
    for event in events():
        history.apply(event)
        screen.event(event, history)
        if event.kind == "trained" and len(history.trained) == 1:
            message = {"phase": "search", "candidate_id": "g00-k2", "seed": 0, "fitness": 310.0, "success_rate": 0.1}
            for steps in (120_000, 240_000):
                screen.progress(message | {"env_steps": steps})
                time.sleep(1.0)
        time.sleep(0.01)
print("the end")
