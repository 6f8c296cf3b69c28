package access

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/access"
	"github.com/signalbox/signalbox/server/caller"
)

// fixture is a root token file that the host reads when the test says so.
type fixture struct {
	t    *testing.T
	path string
	log  bytes.Buffer
	file *File
	age  time.Duration
}

func begin(t *testing.T, entries ...access.Principal) *fixture {
	t.Helper()
	x := &fixture{t: t, path: filepath.Join(t.TempDir(), "tokens.yaml")}
	x.write(text(entries...))
	file, err := open(x.path, slog.New(slog.NewTextHandler(&x.log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	x.file = file
	return x
}

// write replaces the file's text. Its modification time differs from every earlier one, even in a fast test.
func (f *fixture) write(text string) {
	f.t.Helper()
	if err := os.WriteFile(f.path, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	f.age++
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC).Add(f.age * time.Second)
	if err := os.Chtimes(f.path, at, at); err != nil {
		f.t.Fatal(err)
	}
}

// change writes and lets the file be noticed.
func (f *fixture) change(text string) {
	f.t.Helper()
	f.write(text)
	f.file.poll()
	f.file.poll()
}

func (f *fixture) enter(token string) caller.Rights {
	f.t.Helper()
	rights, _, ok := f.file.Authenticate([]byte(token))
	if ok != (rights != nil) {
		f.t.Fatalf("rights %v, ok %v", rights, ok)
	}
	return rights
}

func TestOnlyTokensOfTheFileEnter(t *testing.T) {
	x := begin(t, entryOf("a", "one"), entryOf("b", "two"))
	if rights, name, ok := x.file.Authenticate([]byte("two")); !ok || name != "b" || !rights.Valid() {
		t.Errorf("two: %v, %q, %v", rights, name, ok)
	}
	for _, token := range []string{"", "three", "one ", "On", entryOf("a", "one").SHA256} {
		if _, _, ok := x.file.Authenticate([]byte(token)); ok {
			t.Errorf("%q entered", token)
		}
	}
	if n := len(*x.file.grants.Load()); n != 2 {
		t.Errorf("%d tokens", n)
	}
}

func TestARootTokenMayDoEverything(t *testing.T) {
	x := begin(t, entryOf("a", "one"))
	rights, is := x.enter("one").(*grant)
	if !is || !rights.Set().Administers("/") || !rights.Allows("/prod", "x", protocol.RightDelete) ||
		!rights.Allows("", "", protocol.RightBackup) {
		t.Errorf("%+v", rights)
	}
	x.change(text())
	if rights.Set().Administers("/") || rights.Version() == 0 {
		t.Error("a removed token still gives rights, or its connections are not reviewed")
	}
}

func TestARemovedTokenIsNoMoreValidWhereItIsHeld(t *testing.T) {
	a, b := entryOf("a", "one"), entryOf("b", "two")
	x := begin(t, a, b)
	one, two := x.enter("one"), x.enter("two")
	x.change(text(b))
	if one.Valid() || one.Allows("/x", "", protocol.RightRead) || one.Allows("", "", protocol.RightRead) ||
		x.enter("one") != nil {
		t.Error("the removed token is still good")
	}
	if !two.Valid() || x.enter("two") != two {
		t.Error("the other one is not")
	}
	if !strings.Contains(x.log.String(), "tokens=1 added=0 removed=1") {
		t.Errorf("logged: %s", x.log.String())
	}
	x.change(text())
	if two.Valid() {
		t.Error("a file without entries lets somebody in")
	}
	x.change(text(a))
	if one.Valid() || !x.enter("one").Valid() {
		t.Error("a token that comes back is good for those who come anew")
	}
}

func TestATokenThatIsGivenToAnotherIsTakenFromTheFirst(t *testing.T) {
	x := begin(t, entryOf("a", "one"))
	one := x.enter("one")
	x.change(text(entryOf("b", "one")))
	if _, name, _ := x.file.Authenticate([]byte("one")); one.Valid() || name != "b" {
		t.Errorf("the token is still a's; %s", name)
	}
}

func TestABrokenFileChangesNothing(t *testing.T) {
	good := entryOf("a", "one")
	for name, spoil := range map[string]func(x *fixture){
		"empty":      func(x *fixture) { x.write("") },
		"half":       func(x *fixture) { x.write(text(good)[:40]) },
		"wrong":      func(x *fixture) { x.write("principals: [{name: token:a, sha256: x}]") },
		"gone":       func(x *fixture) { os.Remove(x.path) },
		"unreadable": func(x *fixture) { os.Remove(x.path); os.Mkdir(x.path, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			x := begin(t, good)
			one := x.enter("one")
			spoil(x)
			for range 5 {
				x.file.poll()
			}
			if !one.Valid() || x.enter("one") != one {
				t.Error("the token is gone")
			}
			if got := strings.Count(x.log.String(), "the earlier tokens stay valid"); got != 1 {
				t.Errorf("told %d times: %s", got, x.log.String())
			}
			os.Remove(x.path)
			x.change(text(entryOf("b", "two")))
			if one.Valid() || x.enter("two") == nil {
				t.Error("the file that is right again is not read")
			}
		})
	}
}

func TestAFileThatIsBeingWrittenIsNotRead(t *testing.T) {
	a, b := entryOf("a", "one"), entryOf("b", "two")
	x := begin(t, a, b)
	one, two := x.enter("one"), x.enter("two")
	// The partial content is valid as far as it goes, but lacks b.
	x.write(text(a))
	x.file.poll()
	x.write(text(a, b) + "\n")
	x.file.poll()
	x.file.poll()
	if !one.Valid() || !two.Valid() {
		t.Error("half of the file was taken for all of it")
	}
}

func TestOpenRefusesABrokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	if _, err := Open(path, slog.Default()); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(path, []byte("principals: [{name: token:a, sha256: x}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, slog.Default()); err == nil || !strings.Contains(err.Error(), `cannot use the root token file `+path) ||
		!strings.Contains(err.Error(), "token:a: a token has sha256") {
		t.Errorf("got %v", err)
	}
}

func TestTheFileIsFollowedUntilClose(t *testing.T) {
	x := begin(t, entryOf("a", "one"))
	file, err := Open(x.path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	x.write(text(entryOf("b", "two")))
	deadline := time.Now().Add(time.Minute)
	for {
		if _, _, ok := file.Authenticate([]byte("two")); ok {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the change was not noticed")
		}
		time.Sleep(10 * time.Millisecond)
	}
	file.Close()
	file.Close()
}
