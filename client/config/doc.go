// Package config stores config entries, and notifies programs when an entry changes.
//
// A piece of config is the data of a persistent semaphore with a limit of 1. Put, Get and Watch need no session. A
// change that depends on the present value is an Edit, or a Put with IfRevision. A program that must be the only
// writer for a while acquires the semaphore, and writes with PutGuarded.
//
//	err := config.Put(ctx, c, "/prod/jobs", "limits", []byte(`{"workers": 8}`))
//
//	for v, err := range config.Watch(ctx, c, "/prod/jobs", "limits") {
//		...
//	}
//
// # Caveats
//
// Put without IfRevision overwrites any present value, even if a session owns the semaphore. An Edit notices such a
// Put: it looks again at the new value, and loses nothing. The holder of a lease does not notice.
//
// Data is up to 64 KiB, unless the hosts are set otherwise, and is sent whole to all watchers.
package config
