{{/* Texts that several templates share. All names start with the name of the hosts' StatefulSet. */}}

{{- define "signalbox.name" -}}
{{ .Values.fullnameOverride | default .Release.Name }}
{{- end -}}

{{/* Host addresses with a port: (list . 7420). The first three hosts, or all if there are fewer, are enough to find the rest. */}}
{{- define "signalbox.hosts" -}}
{{- $top := index . 0 -}}{{- $port := index . 1 -}}{{- $name := include "signalbox.name" $top -}}
{{- $list := list -}}
{{- range $i := until (min 3 (int $top.Values.replicas) | int) -}}
{{- $list = append $list (printf "%s-%d.%s.%s.svc:%v" $name $i $name $top.Release.Namespace $port) -}}
{{- end -}}
{{- join "," $list -}}
{{- end -}}

{{/* An image reference: (list . .Values.image). */}}
{{- define "signalbox.image" -}}
{{- $image := index . 1 -}}
{{ $image.repository }}:{{ $image.tag | default (index . 0).Chart.AppVersion }}
{{- with $image.digest }}@{{ . }}{{ end }}
{{- end -}}

{{/* Labels of the hosts' objects. Selectors use the first label alone, because selectors cannot change. */}}
{{- define "signalbox.labels" -}}
app: {{ include "signalbox.name" . }}
{{ include "signalbox.common" . }}
{{- end -}}

{{/* Labels of all objects. */}}
{{- define "signalbox.common" -}}
app.kubernetes.io/name: signalbox
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Fields of all pods: an unprivileged user without a Kubernetes token, and placement. */}}
{{- define "signalbox.pod" -}}
enableServiceLinks: false
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{/* Fields of all containers: (list . .Values.image). */}}
{{- define "signalbox.container" -}}
image: {{ include "signalbox.image" . }}
{{- with index . 0 }}
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{/* Settings of the hosts and of the bootstrap job. */}}
{{- define "signalbox.settings" -}}
- {name: SIGNALBOX_RAFT_LISTEN, value: "0.0.0.0:7421"}
- {name: SIGNALBOX_CLUSTER_NAME, value: {{ .Values.clusterName | quote }}}
- {name: SIGNALBOX_DATA_DIR, value: /var/lib/signalbox}
- {name: SIGNALBOX_RAFT_TLS_CERT, value: /etc/signalbox/tls/tls.crt}
- {name: SIGNALBOX_RAFT_TLS_KEY, value: /etc/signalbox/tls/tls.key}
- {name: SIGNALBOX_RAFT_TLS_CA, value: /etc/signalbox/tls/ca.crt}
{{- range $name, $value := .Values.settings }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end -}}

{{- define "signalbox.claim" -}}
accessModes: [ReadWriteOnce]
{{- with .className }}
storageClassName: {{ . }}
{{- end }}
resources:
  requests: {storage: {{ .size }}}
{{- end -}}

{{/* Flags with which operator commands reach the cluster. */}}
{{- define "signalbox.operator" -}}
- --endpoints={{ include "signalbox.hosts" (list . 7420) }}
- --tls-ca=/etc/signalbox/tls/ca.crt
- --token-file=/etc/signalbox/tokens/operator
{{- end -}}
