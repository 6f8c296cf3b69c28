//go:build !linux && !darwin && !freebsd

package transport

// ListenGnet is ListenNet on this operating system, because gnet's event loops do not run well here.
func ListenGnet(addr string, handler Handler, options NetOptions) (Listener, error) {
	return ListenNet(addr, handler, options)
}
