package identity

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
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

// TestACrashWhileTheFirstIdentityIsWritten: a crash before the rename leaves the beginning of the new file beside what
// was there before.
func TestACrashWhileTheFirstIdentityIsWritten(t *testing.T) {
	_, _, text := written(t)
	for n := 0; n <= len(text); n += 23 {
		dir := t.TempDir()
		put(t, dir, temporaryName, text[:n])
		if id := mustLoad(t, dir, alone()); id.HostName != "signalbox" {
			t.Fatalf("after %d bytes: %+v", n, id)
		}
	}
}

func TestACrashWhileAnotherIdentityIsWritten(t *testing.T) {
	dir, id, text := written(t)
	for n := range len(text) + 1 {
		put(t, dir, temporaryName, text[:n])
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
		if !strings.Contains(err.Error(), "put identity.json back as it was from a backup") {
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

func TestANewerFormatIsRefusedWithoutAnOpinionOnTheRest(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, FileName, []byte(`{"format": 2, "identity": ["something", "else"]}`))
	_, err := load(t, dir, three())
	if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(),
		"it has format 2, this program knows formats up to 1; use the version that wrote it") {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsNoIdentity(t *testing.T) {
	dir := t.TempDir()
	good := Identity{Cluster: "c", HostID: 1, HostName: "a", Shards: 1, FirstHosts: hosts("a=x:1")}
	for name, change := range map[string]func(*Identity){
		"no cluster":        func(i *Identity) { i.Cluster = "" },
		"no host":           func(i *Identity) { i.HostID = 0 },
		"no name":           func(i *Identity) { i.HostName = "" },
		"no shards":         func(i *Identity) { i.Shards = 0 },
		"not in the list":   func(i *Identity) { i.HostName = "b" },
		"another in a list": func(i *Identity) { i.HostID = 2 },
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
	for _, text := range []string{"", "null", "{}", `{"format":0}`, `{"format":1}`, `{"format":1,"identity":null}`, `[]`, `{"format":"1"}`} {
		put(t, dir, FileName, []byte(text))
		if _, err := Read(dir); !errors.Is(err, ErrDamaged) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestTheFileOfTheFirstFormatStaysReadable(t *testing.T) {
	id, err := Read(filepath.Join("testdata", "format1"))
	if err != nil {
		t.Fatal(err)
	}
	if id.HostName != "b" || id.Cluster != "prod-5ea19cd7f28e4cb1e5d1b9d7" || id.Shards != 4 ||
		len(id.FirstHosts) != 3 || !id.Started {
		t.Errorf("got %+v", id)
	}
}
