package identity

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard/hosts"
)

func written(t *testing.T) (dir string, id Identity, text []byte) {
	t.Helper()
	dir = t.TempDir()
	id = mustLoad(t, dir, three())
	text, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	return dir, id, text
}

func put(t *testing.T, dir, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReadOfADirectoryWithoutIdentity(t *testing.T) {
	if _, err := Read(t.TempDir()); !errors.Is(err, ErrNone) {
		t.Errorf("got %v", err)
	}
	if _, err := Read(filepath.Join(t.TempDir(), "nowhere")); !errors.Is(err, ErrNone) {
		t.Errorf("got %v", err)
	}
}

// TestACrashWhileTheFirstIdentityIsWritten: a crash before the rename leaves a partial new file next to the old
// content.
func TestACrashWhileTheFirstIdentityIsWritten(t *testing.T) {
	_, _, text := written(t)
	for n := 0; n <= len(text); n += 23 {
		dir := t.TempDir()
		put(t, dir, FileName+temporarySuffix, text[:n])
		if id := mustLoad(t, dir, alone()); id.HostName != "signalbox" {
			t.Fatalf("after %d bytes: %+v", n, id)
		}
	}
}

func TestACrashWhileAnotherIdentityIsWritten(t *testing.T) {
	dir, id, text := written(t)
	for n := range len(text) + 1 {
		put(t, dir, FileName+temporarySuffix, text[:n])
		if got := mustLoad(t, dir, three()); !reflect.DeepEqual(got, id) {
			t.Fatalf("after %d bytes: %+v", n, got)
		}
	}
}

func TestATornIdentityIsDamaged(t *testing.T) {
	dir, _, text := written(t)
	whole := len(strings.TrimRight(string(text), "\n"))
	for n := range whole {
		put(t, dir, FileName, text[:n])
		_, err := load(t, dir, three())
		if !errors.Is(err, ErrDamaged) {
			t.Fatalf("%d of %d bytes: %v", n, len(text), err)
		}
		if !strings.Contains(err.Error(), "restore identity.json from a backup") {
			t.Fatalf("the way out is missing: %v", err)
		}
	}
}

func TestNoFlippedBitIsTakenForAnotherIdentity(t *testing.T) {
	dir, id, text := written(t)
	refused := 0
	for i := range text {
		for bit := range 8 {
			text[i] ^= 1 << bit
			put(t, dir, FileName, text)
			text[i] ^= 1 << bit
			got, err := Read(dir)
			switch {
			case err != nil:
				refused++
			case !reflect.DeepEqual(got, id):
				t.Fatalf("bit %d of byte %d: %+v", bit, i, got)
			}
		}
	}
	if refused < 6*len(text) {
		t.Errorf("%d of %d flipped bits were noticed", refused, 8*len(text))
	}
}

func TestAnotherFormatIsRefusedWithoutAnOpinionOnTheRest(t *testing.T) {
	for format, c := range map[int]struct {
		err error
		say string
	}{
		4: {ErrNewer, "format 4 is newer than the supported format 3; use the version that wrote"},
		2: {ErrEarlier, "format 2 cannot be converted to format 3; nothing was changed"},
	} {
		dir := t.TempDir()
		text := fmt.Sprintf(`{"format": %d, "identity": ["something", "else"]}`, format)
		put(t, dir, FileName, []byte(text))
		if _, err := load(t, dir, three()); !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("format %d: %v", format, err)
		}
		if after, err := os.ReadFile(filepath.Join(dir, FileName)); err != nil || string(after) != text {
			t.Errorf("format %d: it is %s now, %v", format, after, err)
		}
	}
}

func TestWhatIsNoIdentity(t *testing.T) {
	dir := t.TempDir()
	good := Identity{HostID: 1, HostName: "a", Incarnation: hosts.Incarnation{1}, Starts: 1,
		Bootstrap: NewBootstrap("", 1, []InitialMember{{ID: 1, Name: "a", Incarnation: hosts.Incarnation{1}}})}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Identity){
		"the cluster are missing": func(i *Identity) { i.Bootstrap = Bootstrap{} },
		"no host":                 func(i *Identity) { i.HostID = 0 },
		"no name":                 func(i *Identity) { i.HostName = "" },
		"no incarnation":          func(i *Identity) { i.Incarnation = hosts.Incarnation{} },
		"no shards":               func(i *Identity) { i.Bootstrap = NewBootstrap("", 0, i.InitialMembers) },
		"another name":            func(i *Identity) { i.HostName = "b" },
		"another id":              func(i *Identity) { i.HostID = 2 },
		"another incarnation":     func(i *Identity) { i.Incarnation[0] = 2 },
		"another cluster":         func(i *Identity) { i.Cluster = "other" },
		"other shards":            func(i *Identity) { i.Shards = 2 },
		"started and not yet bootstrapped": func(i *Identity) {
			i.HostID, i.Bootstrap, i.Started = 0, Bootstrap{},
				true
		},
		"ids with a gap": func(i *Identity) {
			i.Bootstrap = NewBootstrap("", 1, append(i.InitialMembers,
				InitialMember{ID: 3, Name: "c", Incarnation: hosts.Incarnation{3}}))
		},
	} {
		bad := good
		change(&bad)
		text, err := encode(&bad)
		if err != nil {
			t.Fatal(err)
		}
		put(t, dir, FileName, text)
		if _, err := Read(dir); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{"", "null", "{}", `{"format":0}`, `{"format":3}`, `{"format":3,"content":null}`,
		`[]`, `{"format":"3"}`} {
		put(t, dir, FileName, []byte(text))
		if _, err := Read(dir); !errors.Is(err, ErrDamaged) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestTheFileOfThisFormatStaysReadable(t *testing.T) {
	id, err := Read(filepath.Join("testdata", "format3"))
	if err != nil {
		t.Fatal(err)
	}
	if id.HostName != "b" || id.HostID != 2 || id.ClusterName != "prod" || id.Shards != 4 || id.Starts != 3 ||
		id.Incarnation.String() != "b2000000000000000000000000000002" || len(id.InitialMembers) != 3 || !id.Started {
		t.Errorf("got %+v", id)
	}
	if _, err := Read(filepath.Join("testdata", "format2")); !errors.Is(err, ErrEarlier) {
		t.Errorf("a directory of a development build: %v", err)
	}
}
