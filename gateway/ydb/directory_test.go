package ydb_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Scheme_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
)

func (r *rig) scheme() Ydb_Scheme_V1.SchemeServiceClient {
	return Ydb_Scheme_V1.NewSchemeServiceClient(r.dial())
}

// listed returns a directory's names; directories end with a slash.
func (r *rig) listed(path string) (names []string, self string, code Ydb.StatusIds_StatusCode) {
	r.t.Helper()
	a, err := r.scheme().ListDirectory(r.context(), &Ydb_Scheme.ListDirectoryRequest{Path: path})
	if code = done(r.t, a, err); code != ok {
		return nil, "", code
	}
	result := &Ydb_Scheme.ListDirectoryResult{}
	if err := a.Operation.Result.UnmarshalTo(result); err != nil {
		r.t.Fatal(err)
	}
	for _, e := range result.Children {
		names = append(names, shown(e))
	}
	return names, shown(result.Self), code
}

func shown(e *Ydb_Scheme.Entry) string {
	switch e.Type {
	case Ydb_Scheme.Entry_DIRECTORY:
		return e.Name + "/"
	case Ydb_Scheme.Entry_COORDINATION_NODE:
		return e.Name
	}
	return e.String()
}

// directory makes and removes a directory.
func (r *rig) directory(path string, made, removed Ydb.StatusIds_StatusCode) {
	r.t.Helper()
	a, err := r.scheme().MakeDirectory(r.context(), &Ydb_Scheme.MakeDirectoryRequest{Path: path})
	if got := done(r.t, a, err); got != made {
		r.t.Errorf("make %s: %v, want %v", path, got, made)
	}
	b, err := r.scheme().RemoveDirectory(r.context(), &Ydb_Scheme.RemoveDirectoryRequest{Path: path})
	if got := done(r.t, b, err); got != removed {
		r.t.Errorf("remove %s: %v, want %v", path, got, removed)
	}
}

// TestDirectoriesAreWhatIsAboveNodes: directories are listed and described, even over several pages, and removed only
// when empty. Another database's path is invalid here.
func TestDirectoriesAreWhatIsAboveNodes(t *testing.T) {
	r := newRig(t, 1)
	native := r.native()
	for _, path := range []string{
		"/local/app/locks", "/local/app/locks/inner", "/local/app-2/x", "/local/zoo", "/other/x", "/local/app/jobs",
	} {
		if _, err := native.CreateNode(t.Context(), path, client.NodeConfig{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 300 {
		path := fmt.Sprintf("/local/many/%03d", i)
		if _, err := native.CreateNode(t.Context(), path, client.NodeConfig{}); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string][]string{
		"/local": {"app-2/", "app/", "many/", "zoo"}, "/local/app/": {"jobs", "locks"}, "local/app/locks": {"inner"},
		"/local/zoo": nil,
	} {
		got, self, code := r.listed(path)
		slices.Sort(got)
		if !slices.Equal(got, want) || code != ok {
			t.Errorf("%s has %q as %s, %v; want %q", path, got, self, code, want)
		}
		a, err := r.scheme().DescribePath(r.context(), &Ydb_Scheme.DescribePathRequest{Path: path})
		of := &Ydb_Scheme.DescribePathResult{}
		if done(t, a, err) != ok || a.Operation.Result.UnmarshalTo(of) != nil || shown(of.Self) != self {
			t.Errorf("%s is described as %v and listed as %s", path, a, self)
		}
	}
	if many, _, _ := r.listed("/local/many"); len(many) != 300 {
		t.Errorf("%d of 300 are listed", len(many))
	}
	const bad = Ydb.StatusIds_SCHEME_ERROR
	for _, path := range []string{"/local/missing", "/local/ap", "/other", "/"} {
		if _, _, code := r.listed(path); code != bad {
			t.Errorf("list of %s: %v", path, code)
		}
	}
	r.directory("/local/new/one", ok, ok)
	r.directory("/local/app", ok, Ydb.StatusIds_PRECONDITION_FAILED)
	r.directory("/local", ok, bad)
	r.directory("/local/zoo", bad, bad)
	r.directory("/other/new", bad, bad)
	r.directory("/local/a b", bad, bad)
}

// TestADirectoryIsSeenByThoseWhoSeeANodeInIt and by no other caller.
func TestADirectoryIsSeenByThoseWhoSeeANodeInIt(t *testing.T) {
	r := newGatedRig(t, nil)
	root := r.nativeWith("root")
	for _, path := range []string{"/local/hidden/a", "/local/open/a", "/local/open/b"} {
		if _, err := root.CreateNode(t.Context(), path, client.NodeConfig{}); err != nil {
			t.Fatal(err)
		}
	}
	grants := []admin.Grant{{Role: "read", Path: "/local/open/b"}}
	_, err := admin.New(root).CreateToken(t.Context(), "reader", "reader", time.Time{}, grants, admin.ChangeInfo{})
	if err != nil {
		t.Fatal(err)
	}
	r.ticket = "reader"
	for path, want := range map[string][]string{database: {"open/"}, "/local/open": {"b"}} {
		if got, _, code := r.listed(path); !slices.Equal(got, want) || code != ok {
			t.Errorf("%s has %q, %v; want %q", path, got, code, want)
		}
	}
	if _, _, code := r.listed("/local/hidden"); code == ok {
		t.Error("what is hidden is listed")
	}
}
