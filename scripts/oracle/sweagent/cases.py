"""Writes policy/stage/sweagent/testdata/cases.json: what SWE-agent's own LastNObservations makes of generated
histories.

    python3 cases.py HISTORY_PROCESSORS_PY > cases.json

HISTORY_PROCESSORS_PY is sweagent/agent/history_processors.py of SWE-agent at commit 318f9091. It needs pydantic.
"""

import importlib.util
import json
import random
import sys
import types

# The file takes only types from the rest of SWE-agent.
sweagent, shapes = types.ModuleType("sweagent"), types.ModuleType("sweagent.types")
shapes.History, shapes.HistoryItem = list, dict
sys.modules |= {"sweagent": sweagent, "sweagent.types": shapes}
spec = importlib.util.spec_from_file_location("history_processors", sys.argv[1])
upstream = importlib.util.module_from_spec(spec)
sys.modules["history_processors"] = upstream
spec.loader.exec_module(upstream)

rng = random.Random(7)
ENDS = ["\n", "\n", "\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x1e", "\x85", "\u2028", "\u2029", "\n\n"]


def text():
    parts = [rng.choice(["x", "some output", "", "héllo", "日本"]) + rng.choice(ENDS) for _ in range(rng.randrange(6))]
    return "".join(parts) + rng.choice(["", "", "end"])


cases = []
for number in range(250):
    config = {"n": rng.randint(1, 8), "polling": rng.choice([1, 1, 1, 2, 3, 5])}
    history = [
        {"role": "system", "content": "system", "message_type": "system_prompt"},
        {"role": "user", "content": "the task", "message_type": "observation"},
    ]
    results = []
    for _ in range(rng.randrange(16)):
        tags = rng.choice([[], [], [], ["keep_output"], ["remove_output"]]) if number % 2 else []
        images = rng.choice([0, 0, 0, 1, 3])
        content = said = text()
        if images:
            content = [{"type": "text", "text": said}] + images * [{"type": "image_url"}]
        results.append({"text": said, "images": images, "tag": (tags or [""])[0]})
        history.append({"role": "assistant", "content": "act", "message_type": "action"})
        history.append({"role": "tool", "content": content, "message_type": "observation", "tags": tags})
    made = upstream.LastNObservations(**config)(history)
    shown = [new["content"] if new["content"] != old["content"] else None for old, new in zip(history, made)]
    assert not any(shown[:2])
    cases.append({**config, "results": results, "masked": shown[3::2]})

print("[" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "]")
