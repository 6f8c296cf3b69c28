package protocol

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
)

var writeFrozen = flag.Bool("frozen.write", false, "freeze the frames of examples that are not frozen yet")

// TestFramesOfFrozenLevelsAreWhatTheyWere: a frame that clients or hosts have sent stays what it is; -update of the
// vectors does not reach this file. A line has the level of the kind, the name of its example, and its sum.
func TestFramesOfFrozenLevelsAreWhatTheyWere(t *testing.T) {
	path := filepath.Join("testdata", "frozen")
	text, err := os.ReadFile(path)
	if err != nil && !(*writeFrozen && errors.Is(err, fs.ErrNotExist)) {
		t.Fatal(err)
	}
	frozen := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		name, _, _ := strings.Cut(lines.Text(), ":")
		_, name, _ = strings.Cut(name, " ")
		frozen[name] = lines.Text()
	}
	var fresh bytes.Buffer
	for _, e := range examples {
		at := levelOf(e.sample.kind)
		line := fmt.Sprintf("%d %s: %x", at, e.name, sha256.Sum256(e.sample.frame()))
		before, ok := frozen[e.name]
		delete(frozen, e.name)
		switch {
		case !ok && *writeFrozen:
			fmt.Fprintln(&fresh, line)
		case !ok && at < level.Newest:
			t.Errorf("the frame of %s, of level %d, is not frozen: run the test with -frozen.write", e.name, at)
		case ok && line != before:
			t.Errorf("level %d is frozen, and the frame of %s is another one now", at, e.name)
		}
	}
	for name, line := range frozen {
		if !laterExamples[name] {
			t.Errorf("the example %s is gone, whose frame is frozen: %s", name, line)
		}
	}
	if fresh.Len() > 0 {
		if err := os.WriteFile(path, append(text, fresh.Bytes()...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// levelOf is the level of a request and of its answer, or of a push.
func levelOf(k Kind) level.Level {
	if k.IsAnswer() {
		k -= AnswerOffset
	}
	if row := requestOf(k); row != nil {
		return max(row.level, level.First)
	}
	if row := pushOf(k); row != nil {
		return max(row.level, level.First)
	}
	return level.First
}
