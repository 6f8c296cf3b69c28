// Package delay makes disks and networks slower for all contestants: every file sync, and every message between hosts.
package delay
