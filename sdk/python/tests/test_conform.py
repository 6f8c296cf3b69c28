"""The client does what the scripts of `protocol/testdata/scripts` say, and mistakes that are planted in it are caught
by the scripts that know them."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from hosts import program

PACKAGE = Path(__file__).parents[1]

#: Mistakes, as texts in the source and what they are replaced by, with a script that catches each.
MISTAKES = {
    "a lease counts from the answer": (
        "_conn.py", "conn.vouched = self.sent", "conn.vouched = _clock.now()",
        "lease-counts-from-the-sending-of-a-ping"),
    "a mutation is sent anew under a new sequence": (
        "_mutation.py", "self.phase, self.error, self.doubt = BROKEN, error, True",
        "self.phase, self.error, self.doubt, self.sequence = BROKEN, error, True, 0",
        "an-acquire-whose-answer-was-lost-keeps-its-sequence"),
    "a watch loses its place": (
        "_view.py", "since = self.state.revision if", "since = 0 if", "a-watch-keeps-its-place-over-a-lost-connection"),
    "sequences are not acknowledged": (
        "_incarnation.py", "min(self.low, m.sequence - 1), *m.body", "0, *m.body", "sequences-are-acknowledged"),
    "mutations of a name go beside each other": (
        "_incarnation.py", "        elif q.busy:\n            return None\n", "", "one-mutation-of-a-name-at-a-time"),
    "an acquire that is cancelled leaves its place": (
        "_incarnation.py", "            if q.waiting is m or owns:", "            if False:",
        "an-acquire-that-is-given-up-while-it-waits-leaves-no-place"),
    "a pause is not noticed": (
        "_attachment.py", "if self.timeout > 0 and _clock.now() >= self.deadline():", "if False:",
        "a-paused-client-looks-at-its-clock-first"),
    "the latest location of a slot wins": (
        "_cluster.py", "        if generation > known:\n", "        if generation:\n",
        "a-routing-with-an-older-generation-takes-nothing-back"),
    "a lagging host sends the client back": (
        "_cluster.py", "        known = self.generation(slot)\n", "        known = 0\n",
        "a-host-that-lags-does-not-send-a-client-back"),
    "a watch names no generation": (
        "_view.py", "k.kind, k.view, generation))", "k.kind, k.view, 0))", "a-watch-goes-on-where-its-slot-moved"),
    "a list forgets slots that have moved": (
        "_list.py", "                moved += missing\n", "", "a-list-goes-on-where-its-slots-moved"),
    "a list names no generation": (
        "_node.py", "                    \"generation\": cluster.generation(slots[0]),\n", "",
        "a-list-names-the-highest-known-generation"),
    "a moved lease is looked for where it was": (
        "_verify.py", "    shard = inc.core.cluster.at(slot_of(inc.node_id, name))\n",
        "    shard = inc.core.cluster.slots[slot_of(inc.node_id, name)]\n",
        "a-lease-that-moved-is-verified-at-its-new-shard"),
    "a rebuilt shard loses the leases that it granted": (
        "_incarnation.py", "(i >= known or order % SHARDS == fence % SHARDS)", "order % SHARDS == fence % SHARDS",
        "leases-in-the-slots-of-a-rebuilt-shard-are-lost"),
    "what is lost in a rebuilt shard is not released": (
        "_incarnation.py", "        self.core.spawn(self._release_later(q.name, lease.fence))\n", "",
        "leases-in-the-slots-of-a-rebuilt-shard-are-lost"),
    "a host that asks to wait is doubted at once": (
        "_cluster.py", " and not retries.waits(error):", ":", "a-host-that-asks-to-wait-causes-no-routing-request"),
}


def play(source: Path, slack: str, *flags: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [program(), "conformance", "--timing-tolerance", slack, *flags, "--", sys.executable, str(PACKAGE / "tests" / "driver.py")],
        env=os.environ | {"PYTHONPATH": str(source)}, capture_output=True, text=True, timeout=170, check=False)


class Conformance(unittest.TestCase):
    def test_the_client_does_what_scripts_say(self) -> None:
        found = play(PACKAGE / "src", "1s")
        self.assertEqual(found.returncode, 0, found.stdout + found.stderr)
        self.assertIn(" 0 skipped", found.stdout)

    def test_planted_mistakes_are_caught(self) -> None:
        for name, (file, right, wrong, script) in MISTAKES.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                source = Path(folder) / "src"
                shutil.copytree(PACKAGE / "src", source)
                planted = source / "signalbox" / file
                text = planted.read_text(encoding="utf-8")
                self.assertEqual(text.count(right), 1, f"{right!r} is not in {file} once")
                planted.write_text(text.replace(right, wrong), encoding="utf-8")
                found = play(source, "100ms", "--script", script)
                self.assertEqual(found.returncode, 1, found.stdout + found.stderr)


if __name__ == "__main__":
    unittest.main()
