package ydb_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Discovery_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Discovery"
	"google.golang.org/grpc"
)

// endpoints returns discovery's answer over a connection.
func (r *rig) endpoints(over grpc.ClientConnInterface) *Ydb_Discovery.ListEndpointsResult {
	r.t.Helper()
	a, err := Ydb_Discovery_V1.NewDiscoveryServiceClient(over).ListEndpoints(r.context(),
		&Ydb_Discovery.ListEndpointsRequest{Database: database})
	if got := done(r.t, a, err); got != ok {
		r.t.Fatalf("%v", got)
	}
	list := &Ydb_Discovery.ListEndpointsResult{}
	if err := a.Operation.Result.UnmarshalTo(list); err != nil {
		r.t.Fatal(err)
	}
	return list
}

func TestDiscoveryNamesTheGateway(t *testing.T) {
	r := newRig(t, 1)
	over := r.dial()
	list := r.endpoints(over)
	host, _, _ := strings.Cut(r.address, ":")
	if len(list.Endpoints) != 1 || list.Endpoints[0].Address != host || list.Endpoints[0].Ssl ||
		!strings.HasSuffix(r.address, ":"+strconv.Itoa(int(list.Endpoints[0].Port))) {
		t.Errorf("the endpoints are %v, and the gateway is at %s", list.Endpoints, r.address)
	}
	w, err := Ydb_Discovery_V1.NewDiscoveryServiceClient(over).WhoAmI(r.context(), &Ydb_Discovery.WhoAmIRequest{})
	if got := done(t, w, err); got != ok {
		t.Errorf("who am I: %v", got)
	}
}

// TestGatewaysFindEachOther: every gateway names all gateways in the cluster's list, with stable numbers while they are
// listed. No gateway names a draining gateway, not even the draining one itself.
func TestGatewaysFindEachOther(t *testing.T) {
	r := newRig(t, 1)
	numbers := make(map[string]uint32)
	await := func(over grpc.ClientConnInterface, want ...string) {
		t.Helper()
		var named []string
		for until := time.Now().Add(limit); ; {
			named = nil
			list := r.endpoints(over)
			for _, e := range list.Endpoints {
				named = append(named, e.Address)
				if e.Port == 2136 && e.Location != "in-"+e.Address {
					t.Fatalf("it is %v", e)
				}
			}
			if slices.Sort(named); slices.Equal(named, want) {
				for _, e := range list.Endpoints {
					if known := numbers[e.Address]; e.NodeId == 0 || known != 0 && known != e.NodeId {
						t.Errorf("%s had the number %d, and has %d", e.Address, known, e.NodeId)
					}
					numbers[e.Address] = e.NodeId
				}
				return
			}
			if time.Now().After(until) {
				t.Fatalf("%v are named, want %v", named, want)
			}
		}
	}
	var overs []*grpc.ClientConn
	var drains []func() error
	for i := range 3 {
		r.published = fmt.Sprintf("gateway-%d", i)
		r.serve()
		gateway := r.gateway
		overs = append(overs, r.dial())
		drains = append(drains, func() error { return gateway.Drain(t.Context()) })
	}
	for _, over := range overs {
		await(over, "gateway-0", "gateway-1", "gateway-2")
	}
	if len(slices.Compact(slices.Sorted(maps.Values(numbers)))) != 3 {
		t.Errorf("the numbers are %v", numbers)
	}
	if got := r.endpoints(overs[1]).SelfLocation; got != "in-gateway-1" {
		t.Errorf("a gateway is in %s", got)
	}
	if err := drains[0](); err != nil {
		t.Fatal(err)
	}
	for _, over := range overs {
		await(over, "gateway-1", "gateway-2")
	}
}
