// Package delay makes disks and networks slower, for all contestants of a race alike: every sync of a file, and every
// message between hosts.
package delay
