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
	"github.com/signalbox/signalbox/server/caller"
)

// fixture is a file of tokens that is looked at when the test says so.
type fixture struct {
	t    *testing.T
	path string
	log  bytes.Buffer
	file *File
	age  time.Duration
}

func begin(t *testing.T, entries ...Entry) *fixture {
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

// write replaces the file's text. Its time differs from every earlier one, however fast the test is.
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
	x := begin(t, entry("a", "one", RoleRead, "/"), entry("b", "two", RoleWrite, "/prod"))
	if rights, name, ok := x.file.Authenticate([]byte("two")); !ok || name != "b" || !rights.Valid() {
		t.Errorf("two: %v, %q, %v", rights, name, ok)
	}
	for _, token := range []string{"", "three", "one ", "On", entry("a", "one", RoleRead).SHA256} {
		if _, _, ok := x.file.Authenticate([]byte(token)); ok {
			t.Errorf("%q entered", token)
		}
	}
	if n := len(*x.file.grants.Load()); n != 2 {
		t.Errorf("%d tokens", n)
	}
}

func TestATokenHoldsForItsRolesUnderItsPaths(t *testing.T) {
	x := begin(t, entry("a", "one", RoleRead, "/"), entry("a", "one", RoleWrite, "/prod/a"),
		entry("b", "two", RoleWrite, "/prod", "/test"))
	one, two := x.enter("one"), x.enter("two")
	for _, c := range []struct {
		rights caller.Rights
		path   string
		need   protocol.Right
		want   bool
	}{
		{one, "/anything", protocol.RightSee, true},
		{one, "/anything", protocol.RightWrite, false},
		{one, "/prod/a/b", protocol.RightWrite, true},
		{one, "/prod/b", protocol.RightWrite, false},
		{one, "", protocol.RightWrite, true},
		{one, "", protocol.RightAdmin, false},
		{two, "/prod/x", protocol.RightSee, true},
		{two, "/prod/x", protocol.RightWrite, true},
		{two, "/prod/x", protocol.RightAdmin, false},
		{two, "/test", protocol.RightWrite, true},
		{two, "/production", protocol.RightSee, false},
		{two, "/other", protocol.RightSee, false},
		{two, "", protocol.RightSee, true},
	} {
		if got := c.rights.Allows(c.path, "", c.need); got != c.want {
			t.Errorf("%q, right %d: %v", c.path, c.need, got)
		}
	}
}

func TestARemovedTokenIsNoMoreValidWhereItIsHeld(t *testing.T) {
	a, b := entry("a", "one", RoleRead, "/"), entry("b", "two", RoleRead, "/")
	x := begin(t, a, b)
	one, two := x.enter("one"), x.enter("two")
	x.change(text(b))
	if one.Valid() || one.Allows("/x", "", protocol.RightSee) || one.Allows("", "", protocol.RightSee) ||
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

func TestChangedRightsActWhereTheTokenIsHeld(t *testing.T) {
	x := begin(t, entry("a", "one", RoleRead, "/prod"))
	one := x.enter("one")
	x.change(text(entry("a", "one", RoleAdmin, "/test")))
	if one.Allows("/prod", "", protocol.RightSee) || !one.Allows("/test", "", protocol.RightAdmin) || !one.Valid() {
		t.Error("the held token has its old rights")
	}
	changed := one.Version()
	x.change(text(entry("a", "one", RoleAdmin, "/test"), entry("b", "two", RoleRead, "/")))
	if changed == 0 || one.Version() != changed {
		t.Errorf("version %d after a change, %d after one of another token", changed, one.Version())
	}
}

func TestATokenThatIsGivenToAnotherIsTakenFromTheFirst(t *testing.T) {
	x := begin(t, entry("a", "one", RoleRead, "/"))
	one := x.enter("one")
	x.change(text(entry("b", "one", RoleRead, "/")))
	if _, name, _ := x.file.Authenticate([]byte("one")); one.Valid() || name != "b" {
		t.Errorf("the token is still a's; %s", name)
	}
}

func TestABrokenFileChangesNothing(t *testing.T) {
	good := entry("a", "one", RoleRead, "/")
	for name, spoil := range map[string]func(x *fixture){
		"empty":      func(x *fixture) { x.write("") },
		"half":       func(x *fixture) { x.write(text(good)[:40]) },
		"wrong":      func(x *fixture) { x.write("- {name: a}") },
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
			if got := strings.Count(x.log.String(), "what it said before counts on"); got != 1 {
				t.Errorf("told %d times: %s", got, x.log.String())
			}
			os.Remove(x.path)
			x.change(text(entry("b", "two", RoleRead, "/")))
			if one.Valid() || x.enter("two") == nil {
				t.Error("the file that is right again is not read")
			}
		})
	}
}

func TestAFileThatIsBeingWrittenIsNotRead(t *testing.T) {
	a, b := entry("a", "one", RoleRead, "/"), entry("b", "two", RoleRead, "/")
	x := begin(t, a, b)
	one, two := x.enter("one"), x.enter("two")
	// What is there of it now is right as far as it goes, and lacks b.
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
	if err := os.WriteFile(path, []byte("- {name: a}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, slog.Default()); err == nil || !strings.Contains(err.Error(), path+` cannot be used:`) || !strings.Contains(err.Error(), "\n  - line 1: entry \"a\": no roles") {
		t.Errorf("got %v", err)
	}
}

func TestTheFileIsFollowedUntilClose(t *testing.T) {
	x := begin(t, entry("a", "one", RoleRead, "/"))
	file, err := Open(x.path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	x.write(text(entry("b", "two", RoleRead, "/")))
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

func BenchmarkAllows(b *testing.B) {
	found, err := parse([]byte(text(entry("a", "one", RoleWrite, "/test", "/prod"))))
	if err != nil {
		b.Fatal(err)
	}
	f := &File{}
	f.replace(found)
	rights, _, _ := f.Authenticate([]byte("one"))
	b.ReportAllocs()
	for b.Loop() {
		if !rights.Valid() || !rights.Allows("/prod/jobs/a", "", protocol.RightWrite) {
			b.Fatal("not allowed")
		}
	}
}
