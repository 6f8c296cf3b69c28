//go:build linux

package ydb_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Coordination_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Discovery_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
	"google.golang.org/grpc"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/gateway/ydb"
	"github.com/signalbox/signalbox/internal/subprocess"
)

// instant is a server that grants each lock and unlock at once, and so shows a machine's upper bound for the SDK.
type instant struct {
	Ydb_Coordination_V1.UnimplementedCoordinationServiceServer
}

// instantServer is an instant server's process.
type instantServer struct {
	*subprocess.Process
	address string
}

func newInstantServer(t testing.TB) *instantServer {
	t.Helper()
	p := launch(t, "instant", "", "")
	await(t, p, "listens")
	return &instantServer{Process: p, address: strings.TrimSpace(line(p.Output(), "listens"))}
}

// beInstant serves until killed. Discovery is the gateway's.
func beInstant(string) error {
	g, err := ydb.New(ydb.Config{Open: func(context.Context, string) (*client.Client, error) {
		return nil, errors.New("there is no cluster")
	}})
	if err != nil {
		return err
	}
	server := grpc.NewServer(g.ServerOptions()...)
	Ydb_Discovery_V1.RegisterDiscoveryServiceServer(server, g)
	Ydb_Coordination_V1.RegisterCoordinationServiceServer(server, instant{})
	return serveHere(g, server)
}

// Session answers on the receiving goroutine.
func (instant) Session(rpc Ydb_Coordination_V1.CoordinationService_SessionServer) error {
	for {
		m, err := rpc.Recv()
		if err != nil {
			return err
		}
		answer := &response{}
		switch {
		case m.GetSessionStart() != nil:
			answer.Response = &Ydb_Coordination.SessionResponse_SessionStarted_{
				SessionStarted: &Ydb_Coordination.SessionResponse_SessionStarted{
					SessionId: 1, TimeoutMillis: m.GetSessionStart().TimeoutMillis,
				},
			}
		case m.GetAcquireSemaphore() != nil:
			answer.Response = &Ydb_Coordination.SessionResponse_AcquireSemaphoreResult_{
				AcquireSemaphoreResult: &Ydb_Coordination.SessionResponse_AcquireSemaphoreResult{
					ReqId: m.GetAcquireSemaphore().ReqId, Status: ok, Acquired: true,
				},
			}
		case m.GetReleaseSemaphore() != nil:
			answer.Response = &Ydb_Coordination.SessionResponse_ReleaseSemaphoreResult_{
				ReleaseSemaphoreResult: &Ydb_Coordination.SessionResponse_ReleaseSemaphoreResult{
					ReqId: m.GetReleaseSemaphore().ReqId, Status: ok, Released: true,
				},
			}
		default:
			continue
		}
		if err := rpc.Send(answer); err != nil {
			return err
		}
	}
}
