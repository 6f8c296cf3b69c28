package identity

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard/hosts"
)

// admission is a single-host cluster's admission for the next host.
func admission(name string, incarnation hosts.Incarnation) Admission {
	bootstrap := NewBootstrap("prod", 2, initialMembers("a", hosts.Incarnation{7}, "a"))
	bootstrap.Closed = true
	return Admission{
		Host: 5, Bootstrap: bootstrap, Generation: Generation{1},
		Hosts: []InitialMember{bootstrap.InitialMembers[0], {5, name, incarnation, name + ":7421"}},
	}
}

func joining() Expected { return Expected{HostName: "d", ClusterName: "prod", Version: "v1.2.3"} }

func TestAHostThatHasJoinedIsOfTheClusterFromThenOn(t *testing.T) {
	dir := t.TempDir()
	d := claim(t, dir)
	if err := d.Make(joining()); err != nil {
		t.Fatal(err)
	}
	if err := d.KeepSecret([]byte("the secret")); err != nil {
		t.Fatal(err)
	}
	if err := d.Join(admission("d", d.Identity().Incarnation)); err != nil {
		t.Fatal(err)
	}
	d.Release()
	id := mustLoad(t, dir, joining())
	if !id.Bootstrapped() || !id.Joined() || id.HostID != 5 || len(id.First()) != 2 || id.First()[1].ID != 5 ||
		id.Generation != (Generation{1}) || id.First()[0].Name != "a" || !id.Closed {
		t.Errorf("it is %+v", id)
	}
	path := filepath.Join(dir, SecretName)
	text, err := os.ReadFile(path)
	info, statErr := os.Stat(path)
	if string(text) != "the secret\n" || err != nil || statErr != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the secret is %q, %v, %v", text, err, info.Mode())
	}
}

func TestWhoMayJoin(t *testing.T) {
	own := hosts.Incarnation{9}
	for name, c := range map[string]struct {
		change func(*Admission)
		want   string
	}{
		"no host of it":     {func(a *Admission) { a.Hosts = a.Hosts[:1] }, "0 times"},
		"another name":      {func(a *Admission) { a.Hosts[1].Name = "e" }, "is d"},
		"another directory": {func(a *Admission) { a.Hosts[1].Incarnation = own }, "incarnation"},
		"the id of another": {func(a *Admission) { a.Host = 1 }, "incarnation"},
		"a bootstrap of others": {func(a *Admission) { a.Bootstrap.Shards, a.Generation = 3, Generation{} },
			"the cluster id does not match"},
		"two first hosts of a restored cluster": {func(a *Admission) {
			a.Bootstrap.InitialMembers = append(a.Bootstrap.InitialMembers, a.Bootstrap.InitialMembers[0])
		}, "one first host"},
		"a cluster of none": {func(a *Admission) { a.Host, a.Bootstrap, a.Hosts = 0, Bootstrap{}, nil },
			"the cluster are missing"},
		"an initial member, and not": {func(a *Admission) { a.Hosts = nil }, "0 times"},
	} {
		t.Run(name, func(t *testing.T) {
			d := claim(t, t.TempDir())
			if err := d.Make(joining()); err != nil {
				t.Fatal(err)
			}
			a := admission("d", d.Identity().Incarnation)
			c.change(&a)
			if err := d.Join(a); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if id := d.Identity(); id.Bootstrapped() {
				t.Errorf("it is of cluster %s", id.Cluster)
			}
		})
	}
}

// TestAHostJoinsOnce: a member of a cluster, however it became one, cannot join another.
func TestAHostJoinsOnce(t *testing.T) {
	for name, belong := range map[string]func(*Directory) error{
		"born":   func(d *Directory) error { return d.BootstrapAlone("", 1, "", false) },
		"joined": func(d *Directory) error { return d.Join(admission("d", d.Identity().Incarnation)) },
	} {
		d := claim(t, t.TempDir())
		if err := errors.Join(d.Make(joining()), belong(d)); err != nil {
			t.Fatal(err)
		}
		before := d.Identity()
		if err := d.Join(admission("d", before.Incarnation)); err == nil || d.Identity().HostID != before.HostID {
			t.Errorf("%s: it has joined again", name)
		}
	}
}

// TestAHostThatHasJoinedAndLostItsLogIsRefused: the cluster began with one host, and has more now.
func TestAHostThatHasJoinedAndLostItsLogIsRefused(t *testing.T) {
	dir := t.TempDir()
	d := claim(t, dir)
	if err := d.Make(joining()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Join(admission("d", d.Identity().Incarnation)), d.Started()); err != nil {
		t.Fatal(err)
	}
	d.Release()
	_, err := load(t, dir, joining())
	if !errors.Is(err, ErrLogLost) || !strings.Contains(err.Error(), "must not come back under its name") {
		t.Errorf("got %v", err)
	}
}
