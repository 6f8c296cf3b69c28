package process

import (
	"fmt"
	"net"
)

// FreeAddresses returns addresses on the loopback interface that nobody listens on. They are all taken
// before the first is let go, so no two are the same.
func FreeAddresses(n int) ([]string, error) {
	addresses := make([]string, 0, n)
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close()
		addresses = append(addresses, l.Addr().String())
	}
	return addresses, nil
}
