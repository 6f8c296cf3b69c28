package rights

import "github.com/signalbox/signalbox/protocol"

// Role is a list of rules under a name. Where it is granted below a path, its rules count below that path.
type Role struct {
	Name  string
	Rules []Rule
}

// The roles that there always are. Each has what those before it have.
const (
	RoleRead     = "read"
	RoleWrite    = "write"
	RoleOperator = "operator"
	RoleAdmin    = "admin"
	RoleRoot     = "root"
)

var predefined = func() (list []*Role) {
	rights := protocol.Right(0)
	for _, r := range []struct {
		name string
		adds protocol.Right
	}{
		{RoleRead, protocol.RightSee},
		{RoleWrite, protocol.RightAcquire | protocol.RightWrite},
		{RoleOperator, protocol.RightDelete | protocol.RightOperate},
		{RoleAdmin, protocol.RightAdmin},
		{RoleRoot, protocol.RightCluster | protocol.RightBackup},
	} {
		rights |= r.adds
		list = append(list, &Role{Name: r.name, Rules: []Rule{{Path: "/", Rights: rights}}})
	}
	return list
}()

// Predefined returns the roles that there always are, the one with the fewest rights first.
func Predefined() []*Role { return predefined }

func predefinedRole(name string) *Role {
	for _, r := range predefined {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// RightsOf returns the rights of a role that there always is.
func RightsOf(name string) (rights protocol.Right, ok bool) {
	r := predefinedRole(name)
	if r == nil {
		return 0, false
	}
	return r.Rules[0].Rights, true
}
