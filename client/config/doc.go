// Package config stores config entries, and notifies programs when an entry changes.
//
// A config entry is stored as a persistent semaphore's data; the semaphore's limit is 1. Put, Get and Watch need no
// session. For a change that depends on the current value, use Edit, or Put with IfRevision. A program that must be the
// only writer for a while acquires the semaphore and writes with PutGuarded.
//
//	err := config.Put(ctx, c, "/prod/jobs", "limits", []byte(`{"workers": 8}`))
//
//	for v, err := range config.Watch(ctx, c, "/prod/jobs", "limits") {
//		...
//	}
//
// # Caveats
//
// Put without IfRevision overwrites any value, even if a session owns the semaphore. Edit detects such a Put and
// retries with the new value, so no change is lost. A lease holder does not notice.
//
// The default maximum value size is 64 KiB; hosts can be configured differently. Every watcher gets the whole value.
package config
