// Package wire forwards TCP connections between processes, under faults: a Wire holds, delays, throttles and breaks
// connections. A Mesh has a Wire for each pair of hosts. The package requires Linux, because only a socket's owner in
// /proc shows which host has connected.
//
//	mesh := wire.NewMesh(listeners, addresses, pids)
//	defer mesh.Close()
//	end := mesh.Hosts[0][1].Delay(20 * time.Millisecond)
package wire
