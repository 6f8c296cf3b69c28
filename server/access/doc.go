// Package access lets clients in by tokens, and says what a token allows under which paths.
//
// The tokens are in a file written by people: a list of entries with the name of the token's owner, the SHA-256 of
// the token, roles, and paths of nodes. The file has no secrets. The host reads the file again after a change: rights
// removed from a token are refused from then on, on open connections of the token too. While the file is broken, or
// gone, the last good content counts.
package access
