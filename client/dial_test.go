package client

import (
	"context"
	"errors"
	"net"
	"testing"
)

// TestAnEndpointWithoutAPortHasThatOfHosts uses the hosts' default port, whether or not a host listens there.
func TestAnEndpointWithoutAPortHasThatOfHosts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the dial fails, with the address in the error
	for endpoint, want := range map[string]string{
		"127.0.0.1": "127.0.0.1:7420", "::1": "[::1]:7420", "[::1]": "[::1]:7420", "127.0.0.1:1": "127.0.0.1:1",
	} {
		_, err := dialTCP(ctx, endpoint)
		if failed, ok := errors.AsType[*net.OpError](err); !ok || failed.Addr == nil || failed.Addr.String() != want {
			t.Errorf("%s: %v, want an attempt at %s", endpoint, err, want)
		}
	}
}
