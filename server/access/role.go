package access

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
)

// Role is what an entry of the file gives. Each role has the rights of those before it.
type Role string

// The roles, from the one with the fewest rights on.
const (
	RoleRead  Role = "read"
	RoleWrite Role = "write"
	RoleAdmin Role = "admin"
)

// Roles are all of them, for messages.
const Roles = "read, write or admin"

// rights returns what the role allows.
func (r Role) rights() (protocol.Right, error) {
	switch r {
	case RoleRead:
		return protocol.RightRead, nil
	case RoleWrite:
		return protocol.RightRead | protocol.RightWrite, nil
	case RoleAdmin:
		return protocol.RightRead | protocol.RightWrite | protocol.RightAdmin, nil
	}
	return 0, fmt.Errorf("there is no role %q; give %s", string(r), Roles)
}
