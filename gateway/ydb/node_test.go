package ydb_test

import (
	"strings"
	"testing"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Coordination_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Scheme_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Operations"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Scheme"
	"google.golang.org/protobuf/proto"

	"github.com/signalbox/signalbox/client"
)

func (r *rig) coordination() Ydb_Coordination_V1.CoordinationServiceClient {
	return Ydb_Coordination_V1.NewCoordinationServiceClient(r.dial())
}

// done returns the operation status after a successful call.
func done(t *testing.T, answer interface {
	GetOperation() *Ydb_Operations.Operation
}, err error) Ydb.StatusIds_StatusCode {
	t.Helper()
	if err != nil || !answer.GetOperation().Ready {
		t.Fatalf("%v, %v", answer, err)
	}
	return answer.GetOperation().Status
}

func (r *rig) drop(path string) Ydb.StatusIds_StatusCode {
	r.t.Helper()
	a, err := r.coordination().DropNode(r.context(), &Ydb_Coordination.DropNodeRequest{Path: path})
	return done(r.t, a, err)
}

func (r *rig) describe(path string) (*Ydb_Coordination.DescribeNodeResult, Ydb.StatusIds_StatusCode) {
	r.t.Helper()
	a, err := r.coordination().DescribeNode(r.context(), &Ydb_Coordination.DescribeNodeRequest{Path: path})
	code := done(r.t, a, err)
	result := &Ydb_Coordination.DescribeNodeResult{}
	if code == ok {
		if err := a.Operation.Result.UnmarshalTo(result); err != nil {
			r.t.Fatal(err)
		}
	}
	return result, code
}

// TestAConfigComesBackAsItWasSet also covers the node's life cycle in the Python SDK's tests.
func TestAConfigComesBackAsItWasSet(t *testing.T) {
	r := newRig(t, 1)
	set := func(check, grace uint32, read, attach Ydb_Coordination.ConsistencyMode) *Ydb_Coordination.Config {
		return &Ydb_Coordination.Config{
			SelfCheckPeriodMillis: check, SessionGracePeriodMillis: grace, ReadConsistencyMode: read,
			AttachConsistencyMode: attach, RateLimiterCountersMode: 2,
		}
	}
	create := func(path string, c *Ydb_Coordination.Config) Ydb.StatusIds_StatusCode {
		a, err := r.coordination().CreateNode(r.context(), &Ydb_Coordination.CreateNodeRequest{Path: path, Config: c})
		return done(t, a, err)
	}
	alter := func(path string, c *Ydb_Coordination.Config) Ydb.StatusIds_StatusCode {
		a, err := r.coordination().AlterNode(r.context(), &Ydb_Coordination.AlterNodeRequest{Path: path, Config: c})
		return done(t, a, err)
	}
	shows := func(path string, want *Ydb_Coordination.Config) {
		t.Helper()
		got, code := r.describe(path)
		if code != ok || !proto.Equal(got.Config, want) {
			t.Errorf("%s has the config %v, want %v", path, got.Config, want)
		}
		if e := got.Self; e.Type != Ydb_Scheme.Entry_COORDINATION_NODE || !strings.HasSuffix(path, "/"+e.Name) {
			t.Errorf("%s is %v", path, e)
		}
	}
	first := set(1000, 1000, 1, 1)
	for _, c := range []*Ydb_Coordination.Config{first, set(2000, 5000, 2, 2)} {
		if got := create(nodePath, c); got != ok {
			t.Errorf("create: %v", got)
		}
		shows(nodePath, first)
	}
	holds, err := r.native().DescribeNode(t.Context(), nodePath)
	if err != nil || holds.Config.SessionGracePeriod.Milliseconds() != 2000 {
		t.Errorf("what holds is %+v, %v", holds, err)
	}
	for _, c := range []struct{ change, want *Ydb_Coordination.Config }{
		{set(10, 12_345, 2, 1), set(10, 12_345, 2, 1)},
		{&Ydb_Coordination.Config{SelfCheckPeriodMillis: 30_000}, set(30_000, 12_345, 2, 1)},
		{set(700, 0, 0, 0), set(700, 12_345, 2, 1)},
		{set(0, 1<<32-1, 0, 0), set(700, 1<<32-1, 2, 1)},
	} {
		if got := alter(nodePath, c.change); got != ok {
			t.Errorf("alter to %v: %v", c.change, got)
		}
		shows(nodePath, c.want)
	}
	if got := create(database+"/other", &Ydb_Coordination.Config{Path: "x"}); got != Ydb.StatusIds_BAD_REQUEST {
		t.Errorf("create with a path in the config: %v", got)
	}
	if got := alter(database+"/missing", first); got != Ydb.StatusIds_SCHEME_ERROR {
		t.Errorf("alter of a missing node: %v", got)
	}
}

// native is a client for the cluster.
func (r *rig) native() *client.Client {
	r.t.Helper()
	return r.nativeWith("")
}

// nativeWith is a client for the cluster with a token.
func (r *rig) nativeWith(token string) *client.Client {
	r.t.Helper()
	c, err := client.Open(r.t.Context(), r.cluster.Addresses(), client.WithDialer(r.cluster.Dial),
		client.WithToken(token))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestAMissingNodeIsAnErrorOfTheScheme(t *testing.T) {
	r := newRig(t, 1)
	for _, path := range []string{nodePath, "/other/jobs", database} {
		if got := r.drop(path); got != Ydb.StatusIds_SCHEME_ERROR {
			t.Errorf("drop of %s: %v", path, got)
		}
		if _, got := r.describe(path); got != Ydb.StatusIds_SCHEME_ERROR {
			t.Errorf("describe of %s: %v", path, got)
		}
		a, err := Ydb_Scheme_V1.NewSchemeServiceClient(r.dial()).DescribePath(r.context(),
			&Ydb_Scheme.DescribePathRequest{Path: path})
		if got := done(t, a, err); (got == ok) != (path == database) {
			t.Errorf("describe path %s: %v; the root of the database is there, and nothing else", path, got)
		}
	}
}
