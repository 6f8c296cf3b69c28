package identity

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// alone is the expectation of a host without settings, three that of host b in a cluster of three.
func alone() Expected { return Expected{HostName: "signalbox", Version: "v1.2.3"} }

func three() Expected {
	return Expected{HostName: "b", Hosts: []string{"a", "b", "c"}, Version: "v1.2.3"}
}

// initialMembers are hosts with these names, the host self with the given incarnation.
func initialMembers(self string, incarnation hosts.Incarnation, names ...string) []InitialMember {
	var all []InitialMember
	for i, name := range names {
		f := InitialMember{ID: shard.HostID(i + 1), Name: name, Incarnation: hosts.Incarnation{0: name[0], 15: 1},
			Raft: name + ".example.com:7421"}
		if name == self {
			f.Incarnation = incarnation
		}
		all = append(all, f)
	}
	return all
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

// load starts a host with expectations: if its directory has no identity, the host is bootstrapped.
func load(t *testing.T, dir string, want Expected) (Identity, error) {
	t.Helper()
	d, err := Claim(dir)
	if err != nil {
		return Identity{}, err
	}
	defer d.Release()
	return begin(d, want)
}

func begin(d *Directory, want Expected) (Identity, error) {
	_, err := d.Load(want)
	if errors.Is(err, ErrNone) {
		if err = d.Make(want); err == nil {
			err = bootstrap(d, want)
		}
	}
	return d.Identity(), err
}

// bootstrap creates a cluster according to the settings.
func bootstrap(d *Directory, want Expected) error {
	names := want.Hosts
	if len(names) == 0 {
		names = []string{want.HostName}
	}
	return d.Bootstrap(NewBootstrap(want.ClusterName, max(want.Shards, 1),
		initialMembers(want.HostName, d.Identity().Incarnation, names...)))
}

func mustLoad(t *testing.T, dir string, want Expected) Identity {
	t.Helper()
	id, err := load(t, dir, want)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestANewDirectoryHasAnIncarnationBeforeItHasACluster(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	d := claim(t, dir)
	if _, err := d.Load(three()); !errors.Is(err, ErrNone) {
		t.Fatalf("got %v", err)
	}
	if err := d.Make(three()); err != nil {
		t.Fatal(err)
	}
	id, err := d.Load(three())
	if err != nil || id.Bootstrapped() || id.HostName != "b" || id.CreatedBy != "v1.2.3" || id.Created.IsZero() ||
		id.Started || id.Incarnation == (hosts.Incarnation{}) {
		t.Fatalf("got %+v, %v", id, err)
	}
	if err := bootstrap(d, three()); err != nil {
		t.Fatal(err)
	}
	bootstrapped := d.Identity()
	if !bootstrapped.Bootstrapped() || bootstrapped.HostID != 2 || bootstrapped.Incarnation != id.Incarnation ||
		bootstrapped.Shards != 1 || bootstrapped.Deployment() == 0 || len(bootstrapped.First()) != 3 {
		t.Errorf("bootstrapped: %+v", bootstrapped)
	}
	if read, err := Read(dir); err != nil || !reflect.DeepEqual(read, bootstrapped) {
		t.Errorf("read %+v, %v", read, err)
	}
}

func TestEachBootstrapDrawsAnotherCluster(t *testing.T) {
	one := initialMembers("a", hosts.Incarnation{1}, "a", "b")
	seen := make(map[string]bool)
	moved := slices.Clone(one)
	moved[1].Raft = "elsewhere:1"
	for _, b := range []Bootstrap{
		NewBootstrap("", 1, one), NewBootstrap(strings.Repeat("n", 32), 1, one), NewBootstrap("", 2, one),
		NewBootstrap("", 1, moved),
		NewBootstrap("", 1, initialMembers("a", hosts.Incarnation{2}, "a", "b")), NewBootstrap("", 1, one[:1]),
	} {
		if seen[b.Cluster] || len(b.Cluster) > 64 || !strings.HasPrefix(b.Cluster, b.ClusterName) {
			t.Errorf("%+v", b)
		}
		seen[b.Cluster] = true
	}
	if again := NewBootstrap("", 1, one); !seen[again.Cluster] {
		t.Error("the hosts of one bootstrap have two clusters")
	}
}

// TestWhichIdentitiesMayBootstrap: neither another host's directory, nor a directory already in a cluster.
func TestWhichIdentitiesMayBootstrap(t *testing.T) {
	d := claim(t, t.TempDir())
	if err := d.Make(three()); err != nil {
		t.Fatal(err)
	}
	mine := d.Identity().Incarnation
	for name, bootstrap := range map[string]Bootstrap{
		"another incarnation": NewBootstrap("", 1, initialMembers("b", hosts.Incarnation{9}, "a", "b", "c")),
		"without it":          NewBootstrap("", 1, initialMembers("a", mine, "a", "c")),
		"wrong by itself":     {Cluster: "x", Shards: 1, InitialMembers: initialMembers("b", mine, "a", "b")},
	} {
		if err := d.Bootstrap(bootstrap); err == nil {
			t.Errorf("%s: it is bootstrapped", name)
		}
		if id := d.Identity(); id.Bootstrapped() {
			t.Errorf("%s: %+v", name, id)
		}
	}
	if err := bootstrap(d, three()); err != nil {
		t.Fatal(err)
	}
	if err := bootstrap(d, three()); err == nil {
		t.Error("it is bootstrapped twice")
	}
}

func TestWhatAHostPromisesOutlivesItsProcess(t *testing.T) {
	dir := t.TempDir()
	d := claim(t, dir)
	if err := d.Make(three()); err != nil {
		t.Fatal(err)
	}
	first, to := d.Identity().Incarnation, hosts.Incarnation{7}
	if err := d.Promise(to); err != nil {
		t.Fatal(err)
	}
	if id, err := Read(dir); err != nil || id.Promise != to || id.Incarnation != first {
		t.Errorf("promised: %+v, %v", id, err)
	}
	if err := d.Redraw(); err != nil {
		t.Fatal(err)
	}
	if id, err := Read(dir); err != nil || id.Promise != (hosts.Incarnation{}) || id.Incarnation == first {
		t.Errorf("drawn again: %+v, %v", id, err)
	}
	if err := bootstrap(d, three()); err != nil {
		t.Fatal(err)
	}
}

func TestSingleHostBootstrapNeedsNoPromise(t *testing.T) {
	d := claim(t, t.TempDir())
	if err := d.Make(alone()); err != nil {
		t.Fatal(err)
	}
	promised := d.Identity().Incarnation
	if err := d.Promise(hosts.Incarnation{7}); err != nil {
		t.Fatal(err)
	}
	if err := d.BootstrapAlone("prod", 2, "x:1", true); err != nil {
		t.Fatal(err)
	}
	if id := d.Identity(); id.Incarnation == promised || id.HostID != 1 || id.ClusterName != "prod" || id.Shards != 2 ||
		id.InitialMembers[0].Raft != "x:1" || !id.Closed {
		t.Errorf("got %+v", id)
	}
	if err := d.Redraw(); err == nil {
		t.Error("a host of a cluster is made another one")
	}
	if err := d.BootstrapAlone("prod", 2, "x:1", true); err == nil {
		t.Error("it is bootstrapped twice")
	}
}

func TestEachStartHasANumberOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	mustLoad(t, dir, alone())
	draws := make(map[uint64]bool)
	for want := uint64(1); want < 4; want++ {
		d := claim(t, dir)
		if _, err := d.Load(alone()); err != nil {
			t.Fatal(err)
		}
		start, err := d.Begin()
		if err != nil || start.Number != want || draws[start.Draw] {
			t.Errorf("start %+v, want number %d, %v", start, want, err)
		}
		draws[start.Draw] = true
		if id, err := Read(dir); err != nil || id.Starts != want {
			t.Errorf("in the directory: %+v, %v", id, err)
		}
		d.Release()
	}
}

func TestSettingsThatDoNotFit(t *testing.T) {
	with := func(w Expected, change func(*Expected)) Expected { change(&w); return w }
	named := with(three(), func(w *Expected) { w.ClusterName = "prod" })
	for name, c := range map[string]struct {
		made, wanted Expected
		say          []string
	}{
		"another host": {three(), with(three(), func(w *Expected) { w.HostName = "c" }), []string{
			"the directory belongs to host b, but the host name is c; give --name b, or a different --data-dir"}},
		"another number of shards": {three(), with(three(), func(w *Expected) { w.Shards = 8 }), []string{
			"the cluster was created with 1 shards, but --shards is 8; give --shards 1 or omit the setting"}},
		"another cluster": {named, with(three(), func(w *Expected) { w.ClusterName = "test" }), []string{
			`the cluster has the name prod, but --cluster-name is "test"; give --cluster-name prod`}},
		"no name for the cluster": {named, three(), []string{
			`the cluster has the name prod, but --cluster-name is ""; give --cluster-name prod`}},
		"a name for the cluster": {three(), named, []string{
			"the cluster has no name, but --cluster-name is prod; omit --cluster-name"}},
		"a host more": {three(), with(three(), func(w *Expected) { w.Hosts = []string{"a", "b", "c", "d"} }), []string{
			"bootstrapped with other hosts (d is new); the list is used for bootstrap only: restore " +
				"SIGNALBOX_INITIAL_HOSTS=a=a.example.com:7421,b=b.example.com:7421,c=c.example.com:7421"}},
		"a host less": {three(), with(three(), func(w *Expected) { w.Hosts = w.Hosts[:2] }), []string{
			"bootstrapped with other hosts (c is missing)"}},
		"alone, then one of three": {alone(), three(), []string{
			"the directory belongs to host signalbox, but the host name is b",
			"(signalbox is missing, a is new, b is new, c is new)"}},
		"everything": {named, with(three(), func(w *Expected) { w.HostName, w.Shards, w.Hosts = "c", 2, nil }),
			[]string{
				"belongs to host b", "the name prod", "was created with 1 shards"}},
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

func TestWhatNeedNotBeSaidAgain(t *testing.T) {
	dir := t.TempDir()
	first := three()
	first.Shards = 7
	mustLoad(t, dir, first)
	for name, later := range map[string]Expected{
		"shards": three(), "the list": {HostName: "b"}, "nothing": first,
	} {
		if id := mustLoad(t, dir, later); id.Shards != 7 || len(id.InitialMembers) != 3 {
			t.Errorf("%s: %+v", name, id)
		}
	}
}

func TestADirectoryWithOtherThingsInItIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.doc"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := load(t, dir, alone())
	if !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), `the directory contains "thesis.doc"`) {
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
			if _, err := begin(d, want); err != nil {
				t.Fatal(err)
			}
			d.Release()
			// A host stopped before its log existed starts again as a new host.
			mustLoad(t, dir, want)

			d = claim(t, dir)
			if _, err := begin(d, want); err != nil {
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
