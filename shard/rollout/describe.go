package rollout

import (
	"fmt"
	"strings"
)

// Describe formats the rollout as text, without its instances: all saved fields, but only the payload lengths.
func (r *Rollout) Describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%+v\nseq %d generation %d location %d ticket %d act %d fence %d\n", r.rules, r.lastSeq,
		r.generation, r.lastLocation, r.lastTicket, r.lastAct, r.fence)
	fmt.Fprintf(&b, "resumed %d asked %d due %d revisions %d %d %d\n", r.resumed, r.asked, r.due, r.headRevision,
		r.specRevision, r.ticketRevision)
	fmt.Fprintf(&b, "paused %+v halted %+v ticket %+v declined %q sources %+v\n", r.paused, r.halted, r.ticket,
		r.declined, r.sources)
	for _, a := range r.audit {
		fmt.Fprintf(&b, "act %+v\n", a)
	}
	for _, v := range r.versions {
		shown := *v
		shown.Payload = nil
		fmt.Fprintf(&b, "version of %d bytes %+v\n", len(v.Payload), shown)
	}
	for _, l := range r.locations {
		fmt.Fprintf(&b, "location %d %+v inherited %d gates %+v bypassed %v back %d bar %+v reelections %d at %d "+
			"stuck %v revisions %d %d\n", l.ID, l.Spec, l.Inherited, l.Gates, l.Bypassed, l.Back, l.Bar,
			l.Reelections, l.Reelected, l.Stalled, l.Revision, l.TargetRevision)
		for _, row := range l.History {
			fmt.Fprintf(&b, "  %+v\n", row)
		}
	}
	return b.String()
}

// Describe formats the instance as text.
func (i *Instance) Describe(source bool) string {
	what := ""
	if source {
		what = "source "
	}
	if i.Name == "" {
		return what
	}
	return fmt.Sprintf("%s%v %q of %s (%d) %q %+v signal %d since %d sent %d at %d revision %d", what, i.Role, i.Name,
		i.Location, i.location, i.Attributes, i.Report, i.signal, i.Since, i.Sent, i.Received, i.Revision)
}
