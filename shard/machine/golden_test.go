package machine_test

import (
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var goldenRewrite = flag.Bool("rewrite", false, "write what the golden scripts print into their files")

// TestGolden: the scripts in testdata/golden show a shard from its users' perspective, as commands and machine answers.
// `go test ./shard -run Golden -rewrite` rewrites the answers: review every changed line.
//
// A block is comments, one or more command lines, a line with four dashes, and the output up to the next empty line.
// Sessions have names; a session's next mutation number, and the acknowledgement of all earlier answers, are added
// unless a line has number= or acked=. w1..w9 stands for all nine, a * in a name or in data for the number in each. The
// lines between `batch` and `end` are one batch; its effects are shown after the command that caused them. Defaults are
// node=1, slot=0, count=1, timeout=10s for a session and timeout=forever for an acquire. `brief` after a command counts
// its effects instead of showing each effect.
//
// Commands:
//
//	session W.. node= slot= timeout= description= key=   attach W timeout= description= key=
//	end W operator   expire W.. term=   forget W..   lead term=   drop node= count=   due term=
//	numbers W key= from=
//	limits node= objects= bytes=   limits shard objects= bytes=
//	create NAME limit= data= by=W   update NAME data= order= by=W   delete NAME force by=W
//	resize NAME limit= if-rev= by=W
//	acquire W.. NAME count= timeout= data= ephemeral   release W.. NAME order=
//	withdraw NAME W.. order= number=   again W acked=   (repeats the session's last mutation)
//
// A mutation also takes times=N. Mutations and batch take elapsed= and stamped=: for how long the leader has led, and
// the proposal's term unless it is the latest. Reads:
//
//	describe NAME owners waiters after= limit=   changes NAME since=   list prefix= after= limit=
//	sessions after= limit=   session-of W   key-of W key=   holdings W after= limit=   waiters   nodes
//	usage node=   usage shard
//	slot N   slot-of NAME   state   digest
//
// Actions of hosts and clients:
//
//	machine M slots=0-2047 history=   (selects the machine from here on)   on M   replica M of M   catch-up M
//	snapshot   restart   reconcile M with M   ask M W..   watch W NAME data owners
//	follow CLIENT NAME   (a streaming watch: changes since its last look)
func TestGolden(t *testing.T) {
	paths, err := filepath.Glob("testdata/golden/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden scripts: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			script, err := readGolden(path)
			if err != nil {
				t.Fatal(err)
			}
			st := newGoldenStage()
			outputs := make([][]string, len(script.blocks))
			for i := range script.blocks {
				b := &script.blocks[i]
				outputs[i], err = st.run(path, b)
				if err != nil {
					t.Fatal(err)
				}
				if !*goldenRewrite && !slices.Equal(outputs[i], b.output) {
					t.Errorf("%s:%d: %s\n%s", path, b.line, b.input[0], goldenDiff(b.output, outputs[i]))
				}
			}
			if *goldenRewrite {
				if err := script.rewrite(outputs); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestGoldenNamesTheLineOfAMistake: a script with an error must not pass.
func TestGoldenNamesTheLineOfAMistake(t *testing.T) {
	for _, c := range []struct {
		input []string
		want  string
	}{
		{[]string{"obtain w1 leader"}, `s.txt:7: unknown command "obtain"`},
		{[]string{"lead", "create leader limit=1 fast"}, `s.txt:8: unknown word "fast" of create`},
		{[]string{"create leader limits=1"}, "s.txt:7: unknown option limits=1 of create"},
		{[]string{"create leader limit=one"}, "s.txt:7: limit=one should be a number"},
		{[]string{"acquire w1 leader"}, `s.txt:7: "w1" is no session`},
		{[]string{"session w1", "acquire w1"}, "s.txt:8: the semaphore is missing"},
		{[]string{"session w1", "acquire w1 leader timeout=1us"},
			"s.txt:8: timeout=1us should be a time in whole milliseconds"},
		{[]string{"batch", "lead", "on a", "end"}, "s.txt:9: on does not belong into a batch"},
		{[]string{"batch", "lead"}, "s.txt:7: the batch has no end"},
		{[]string{"on a"}, `s.txt:7: "a" is no machine`},
		{[]string{`create "leader`}, `s.txt:7: a quote is not closed: "leader`},
		{[]string{"session w3..w1"}, `s.txt:7: "w3..w1" is no span such as w1..w9`},
	} {
		_, err := newGoldenStage().run("s.txt", &goldenBlock{line: 7, input: c.input})
		if err == nil || err.Error() != c.want {
			t.Errorf("%q: got %v, want %s", c.input, err, c.want)
		}
	}
}
