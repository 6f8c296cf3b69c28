package backup

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/gateway/operation"
	"github.com/signalbox/signalbox/server/backup"
	"github.com/signalbox/signalbox/shard/access"
)

// The two things that a restore can do with the rights in a backup.
const (
	keepRights = "keep"
	dropRights = "drop"
)

// restoredRights are the rights in a backup. The backup cannot say which of the rights were revoked since.
type restoredRights struct {
	book  *access.Book
	saved time.Time
}

func rightsOf(s *backup.States) restoredRights {
	return restoredRights{s.Meta.Rights(), s.Header.Begun.UTC()}
}

// principals are the principals with rights, as the command that lists principals shows principals.
func (r *restoredRights) principals() []admin.Principal {
	return cli.Map(r.book.Records(), (*access.Record).View)
}

// list says all that comes back with the backup.
func (r *restoredRights) list(f *cli.Frame) {
	f.Say("signalbox: these rights were in force at %s and come back, also what was revoked since:",
		r.saved.Format(time.RFC3339))
	for _, p := range r.principals() {
		line := p.Name + "  " + cmp.Or(operation.GrantTexts(p.Grants), "nothing")
		if !p.Expires.IsZero() {
			line += "  until " + cli.Cell(p.Expires)
		}
		f.Say("  %s", line)
	}
	for _, role := range r.book.Roles() {
		f.Say("  role %s  %s", role.Name, operation.RuleTexts(role.Rules))
	}
	if r.book.Open() {
		f.Say("  anonymous  everything, on hosts without --token-file and --access-file")
	}
}

// dropped lists what comes back, and reports whether that is to be dropped, as the flag or the user says.
func (r *restoredRights) dropped(f *cli.Frame, flag string) (bool, error) {
	if flag != "" && flag != keepRights && flag != dropRights {
		return false, cli.Errorf(cli.ExitUsage, "--access is %s or %s", keepRights, dropRights)
	}
	r.list(f)
	if flag != "" {
		return flag == dropRights, nil
	}
	if !cli.IsTerminal(f.In) || !cli.IsTerminal(f.Err) {
		return false, cli.Errorf(cli.ExitUsage, "say what becomes of these rights: --access %s has them all back, "+
			"--access %s none; nothing was done, since there is no terminal to ask at", keepRights, dropRights)
	}
	fmt.Fprintf(f.Err, "Have them all back, or drop them all? [%s/%s/N] ", keepRights, dropRights)
	line, _ := bufio.NewReader(f.In).ReadString('\n') // an answer that breaks off is no answer
	switch strings.ToLower(strings.TrimSpace(line)) {
	case keepRights:
		return false, nil
	case dropRights:
		return true, nil
	}
	return false, errors.New("nothing was done")
}
