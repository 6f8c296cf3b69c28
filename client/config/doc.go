// Package config keeps small pieces of configuration, and tells programs when they change.
//
// A piece of config is the data of a persistent semaphore with a limit of 1. Put, Get and Watch need no
// session. Who must be the only one to change it for a while acquires the semaphore, and writes with
// PutGuarded; a change that depends on what is there is an Edit.
//
//	err := config.Put(ctx, c, "/prod/jobs", "limits", []byte(`{"workers": 8}`))
//
//	for v, err := range config.Watch(ctx, c, "/prod/jobs", "limits") {
//		...
//	}
//
// # Caveats
//
// Put asks for no lease: it overwrites what an Edit or the holder of a lease is about to write, and is
// overwritten by it. Where that matters, let all use Edit, or all write through a lease.
//
// Data is up to 64 KiB, unless the hosts are set otherwise, and is sent whole to everybody who watches.
package config
