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

// What a restore can do with a backup's rights.
const (
	keepRights = "keep"
	dropRights = "drop"
)

// restoredRights are a backup's rights. The backup does not show which rights were revoked later.
type restoredRights struct {
	book  *access.Book
	saved time.Time
}

func rightsOf(s *backup.States) restoredRights {
	return restoredRights{s.Meta.Rights(), s.Header.Begun.UTC()}
}

// principals returns the principals with rights, in the form used by the command that lists principals.
func (r *restoredRights) principals() []admin.Principal {
	return cli.Map(r.book.Records(), (*access.Record).View)
}

// list prints everything the backup brings back.
func (r *restoredRights) list(f *cli.Frame) {
	f.Say("signalbox: these grants were in force at %s and are restored, even if revoked since:",
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

// none reports whether the backup has no principals and no roles.
func (r *restoredRights) none() bool { return len(r.book.Records()) == 0 && len(r.book.Roles()) == 0 }

// dropped lists what would be restored, and reports whether the flag or the user chose to drop it. A backup without
// principals and roles raises no question: the new cluster treats anonymous clients as the old cluster did.
func (r *restoredRights) dropped(f *cli.Frame, flag string) (bool, error) {
	if flag != "" && flag != keepRights && flag != dropRights {
		return false, cli.Errorf(cli.ExitUsage, "--access must be %s or %s", keepRights, dropRights)
	}
	if flag == "" && r.none() {
		return false, nil
	}
	r.list(f)
	if flag != "" {
		return flag == dropRights, nil
	}
	if !cli.IsTerminal(f.In) || !cli.IsTerminal(f.Err) {
		return false, cli.Errorf(cli.ExitUsage, "--access is missing and there is no terminal to ask; pass "+
			"--access %s to restore these grants, or --access %s to drop them; nothing was "+
			"done", keepRights, dropRights)
	}
	fmt.Fprintf(f.Err, "Keep or drop these grants? [%s/%s/N] ", keepRights, dropRights)
	line, _ := bufio.NewReader(f.In).ReadString('\n') // an answer that breaks off is no answer
	switch strings.ToLower(strings.TrimSpace(line)) {
	case keepRights:
		return false, nil
	case dropRights:
		return true, nil
	}
	return false, errors.New("nothing was done")
}
