package client

import (
	"context"
	"errors"
	"net"
	"testing"
)

// TestAnEndpointWithoutAPortHasThatOfHosts: whether a host listens there is not asked.
func TestAnEndpointWithoutAPortHasThatOfHosts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // it is dialled in vain, and the error has the address
	for endpoint, want := range map[string]string{
		"127.0.0.1": "127.0.0.1:7420", "::1": "[::1]:7420", "[::1]": "[::1]:7420", "127.0.0.1:1": "127.0.0.1:1",
	} {
		_, err := dialTCP(ctx, endpoint)
		if failed, ok := errors.AsType[*net.OpError](err); !ok || failed.Addr == nil || failed.Addr.String() != want {
			t.Errorf("%s: %v, want an attempt at %s", endpoint, err, want)
		}
	}
}
