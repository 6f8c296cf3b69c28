package identity

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard"
)

func hosts(list ...string) []Host {
	var all []Host
	for i, item := range list {
		name, address, _ := strings.Cut(item, "=")
		all = append(all, Host{ID: shard.HostID(i + 1), Name: name, Raft: address})
	}
	return all
}

// alone is what a host without any setting wants, three what host b of three wants.
func alone() Expected {
	return Expected{HostName: "signalbox", HostID: 1, Hosts: hosts("signalbox=127.0.0.1:7421"), ShardsOtherwise: 4,
		Version: "v1.2.3"}
}

func three() Expected {
	return Expected{HostName: "b", HostID: 2, Hosts: hosts("a=10.0.0.1:7421", "b=10.0.0.2:7421", "c=10.0.0.3:7421"),
		ShardsOtherwise: 4, Version: "v1.2.3"}
}

func claim(t *testing.T, dir string) *Directory {
	t.Helper()
	d, err := Claim(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Release)
	return d
}

func load(t *testing.T, dir string, want Expected) (Identity, error) {
	t.Helper()
	d, err := Claim(dir)
	if err != nil {
		return Identity{}, err
	}
	defer d.Release()
	return d.LoadOrCreate(want)
}

func mustLoad(t *testing.T, dir string, want Expected) Identity {
	t.Helper()
	id, err := load(t, dir, want)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestANewDirectoryGetsTheIdentityThatIsWanted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	id := mustLoad(t, dir, alone())
	if id.HostName != "signalbox" || id.HostID != 1 || id.Shards != 4 || id.CreatedBy != "v1.2.3" ||
		id.Created.IsZero() || id.Started {
		t.Errorf("got %+v", id)
	}
	if again := mustLoad(t, dir, alone()); !reflect.DeepEqual(again, id) {
		t.Errorf("first %+v\nthen  %+v", id, again)
	}
	if read, err := Read(dir); err != nil || !reflect.DeepEqual(read, id) {
		t.Errorf("read %+v, %v", read, err)
	}
}

func TestAllHostsOfAClusterFindTheSameId(t *testing.T) {
	one, other := three(), three()
	other.HostName, other.HostID = "c", 3
	a, b := mustLoad(t, t.TempDir(), one), mustLoad(t, t.TempDir(), other)
	if a.Cluster != b.Cluster || a.Deployment() != b.Deployment() || a.Deployment() == 0 {
		t.Errorf("clusters %s and %s", a.Cluster, b.Cluster)
	}
	if !reflect.DeepEqual(a.Members(), map[shard.HostID]string{1: "10.0.0.1:7421", 2: "10.0.0.2:7421",
		3: "10.0.0.3:7421"}) ||
		!reflect.DeepEqual(a.HostIDs(), []shard.HostID{1, 2, 3}) {
		t.Errorf("members %v", a.Members())
	}
}

func TestWhatTellsClustersApart(t *testing.T) {
	named, moved, fewer := three(), three(), three()
	fewer.Shards = 2
	named.ClusterName = strings.Repeat("n", 32)
	moved.Hosts = hosts("a=10.0.0.1:7421", "b=10.0.0.2:7421", "c=10.0.0.4:7421")
	seen := make(map[string]string)
	for name, want := range map[string]Expected{"three": three(), "named": named, "moved": moved, "fewer shards": fewer,
		"alone": alone(), "alone again": alone()} {
		id := mustLoad(t, t.TempDir(), want)
		if other, taken := seen[id.Cluster]; taken {
			t.Errorf("%s and %s have the id %s", name, other, id.Cluster)
		}
		seen[id.Cluster] = name
		if len(id.Cluster) > 64 || !strings.HasPrefix(id.Cluster, want.ClusterName) {
			t.Errorf("%s has the id %q", name, id.Cluster)
		}
	}
}

func TestSettingsThatDoNotFit(t *testing.T) {
	with := func(w Expected, change func(*Expected)) Expected { change(&w); return w }
	named := with(three(), func(w *Expected) { w.ClusterName = "prod" })
	for name, c := range map[string]struct {
		made, wanted Expected
		say          []string
	}{
		"another host": {three(), with(three(), func(w *Expected) { w.HostName, w.HostID = "c", 3 }), []string{
			"it belongs to host b, and this is host c: give --name b, or another --data-dir for this host"}},
		"another number of shards": {three(), with(three(), func(w *Expected) { w.Shards = 8 }), []string{
			"its cluster was made with 4 shards, and --shards is 8: give --shards 4 or leave it out"}},
		"another cluster": {named, with(three(), func(w *Expected) { w.ClusterName = "test" }), []string{
			`its cluster was made with the name prod, and --cluster is "test": give --cluster prod`}},
		"no name for the cluster": {named, three(), []string{
			`its cluster was made with the name prod, and --cluster is "": give --cluster prod`}},
		"a name for the cluster": {three(), named, []string{
			"its cluster was made without a name, and --cluster is prod: leave --cluster out"}},
		"a host more": {three(), with(three(), func(w *Expected) {
			w.Hosts = append(w.Hosts,
				Host{ID: 4, Name: "d", Raft: "10.0.0.4:1"})
		}), []string{
			"made of other hosts (d is new): give the list back as it was, " +
				"SIGNALBOX_HOSTS=a=10.0.0.1:7421,b=10.0.0.2:7421,c=10.0.0.3:7421"}},
		"a host less": {three(), with(three(), func(w *Expected) { w.Hosts = w.Hosts[:2] }), []string{
			"made of other hosts (c is missing)"}},
		"a host elsewhere": {three(), with(three(), func(w *Expected) { w.Hosts[2].Raft = "10.0.0.9:7421" }), []string{
			"made of other hosts (c was at 10.0.0.3:7421 and is at 10.0.0.9:7421)"}},
		"alone, another Raft address": {
			alone(), with(alone(), func(w *Expected) { w.Hosts[0].Raft = "127.0.0.1:9999" }),
			[]string{
				"it was made with the Raft address 127.0.0.1:7421, and that is 127.0.0.1:9999 now: give " +
					"--raft-advertise " +
					"127.0.0.1:7421"}},
		"alone, then one of three": {alone(), three(), []string{
			"it belongs to host signalbox, and this is host b", "(signalbox is missing, a is new, b is new, c " +
				"is new)"}},
		"everything": {named, with(alone(), func(w *Expected) { w.Shards = 1 }), []string{
			"belongs to host b", "the name prod", "with 4 shards", "made of other hosts"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			made := mustLoad(t, dir, c.made)
			_, err := load(t, dir, c.wanted)
			if !errors.Is(err, ErrMismatch) {
				t.Fatalf("got %v", err)
			}
			for _, say := range append(c.say, dir) {
				if !strings.Contains(err.Error(), say) {
					t.Errorf("%v\ndoes not say: %s", err, say)
				}
			}
			if got := strings.Count(err.Error(), "\n  - "); got != len(c.say) {
				t.Errorf("%d differences, want %d: %v", got, len(c.say), err)
			}
			if after, err := Read(dir); err != nil || !reflect.DeepEqual(after, made) {
				t.Errorf("the identity was changed: %+v, %v", after, err)
			}
		})
	}
}

func TestTheNumberOfShardsNeedNotBeSaidAgain(t *testing.T) {
	dir := t.TempDir()
	first := alone()
	first.Shards = 7
	mustLoad(t, dir, first)
	later := alone()
	later.ShardsOtherwise = 99
	if id := mustLoad(t, dir, later); id.Shards != 7 {
		t.Errorf("%d shards", id.Shards)
	}
	if id := mustLoad(t, dir, first); id.Shards != 7 {
		t.Errorf("%d shards", id.Shards)
	}
}

func TestADirectoryWithOtherThingsInItIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.doc"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := load(t, dir, alone())
	if !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), `there is "thesis.doc" in it`) {
		t.Errorf("got %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("something was left there: %v", entries)
	}
	_, err = load(t, filepath.Join(dir, "thesis.doc"), alone())
	if !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "it is a file") {
		t.Errorf("got %v", err)
	}
}

func TestTheTopOfAFileSystemIsTaken(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "lost+found"), 0o700); err != nil {
		t.Fatal(err)
	}
	mustLoad(t, dir, alone())
}

func TestADirectoryThatHasLostItsLogIsRefused(t *testing.T) {
	for name, want := range map[string]Expected{"alone": alone(), "three": three()} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			d := claim(t, dir)
			if _, err := d.LoadOrCreate(want); err != nil {
				t.Fatal(err)
			}
			d.Release()
			// A host that stopped before its log was there starts again as a new one.
			mustLoad(t, dir, want)

			d = claim(t, dir)
			if _, err := d.LoadOrCreate(want); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(d.LogPath(), "something"), 0o700); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := d.Started(); err != nil {
					t.Fatal(err)
				}
			}
			d.Release()
			if id := mustLoad(t, dir, want); !id.Started {
				t.Errorf("got %+v", id)
			}

			if err := os.RemoveAll(filepath.Join(dir, LogName)); err != nil {
				t.Fatal(err)
			}
			if _, err := load(t, dir, want); !errors.Is(err, ErrLogLost) {
				t.Errorf("got %v", err)
			}
			if err := os.Mkdir(filepath.Join(dir, LogName), 0o700); err != nil {
				t.Fatal(err)
			}
			if _, err := load(t, dir, want); !errors.Is(err, ErrLogLost) {
				t.Errorf("with an empty log: %v", err)
			}
		})
	}
}

func TestEveryDirectoryThatIsMadeIsSynced(t *testing.T) {
	top := t.TempDir()
	var synced []string
	made, err := makeDirectory(filepath.Join(top, "a", "b", "c"), func(dir string) error {
		synced = append(synced, dir)
		return nil
	})
	want := []string{top, filepath.Join(top, "a"), filepath.Join(top, "a", "b")}
	if err != nil || !made || !reflect.DeepEqual(synced, want) {
		t.Errorf("made %v, %v; synced %v, want %v", made, err, synced, want)
	}
}
