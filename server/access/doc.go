// Package access lets clients in by tokens, and says what each may do under which paths.
//
// The tokens are in a file that people write: a list of entries with the name of the owner of the token,
// the SHA-256 of the token, roles, and paths of nodes. The file has no secrets in it. It is read again
// when it changes: what was taken away from a token is refused from then on, on connections that were let
// in with it too. While the file is broken, or gone, its last good content counts.
package access
