{{- define "pigeon.nats" -}}
tls://{{ .Release.Name }}-nats-0.{{ .Release.Name }}-nats:4222,tls://{{ .Release.Name }}-nats-1.{{ .Release.Name }}-nats:4222,tls://{{ .Release.Name }}-nats-2.{{ .Release.Name }}-nats:4222
{{- end }}
{{- define "pigeon.masters" -}}
{{- $r := .Release.Name -}}
{{- range $i := until (int .Values.masters) }}{{ if $i }}/{{ end }}{{ $r }}-master-{{ $i }}.{{ $r }}-master:20502{{ end }}
{{- end }}
{{- define "pigeon.common" -}}
- {name: PIGEON_CLUSTER, value: {{ .Values.cluster | quote }}}
- {name: PIGEON_POLICY, value: {{ .Values.policy | quote }}}
- {name: PIGEON_NATS, value: {{ include "pigeon.nats" . | quote }}}
{{- end }}
{{- define "pigeon.certificate" -}}
- {name: PIGEON_TLS_CA, value: /certificates/ca.pem}
- {name: PIGEON_TLS_CERT, value: "/certificates/{{ . }}.pem"}
- {name: PIGEON_TLS_KEY, value: "/certificates/{{ . }}.key"}
{{- end }}
{{- define "pigeon.pod" -}}
- {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
{{- end }}
{{- define "pigeon.closed" -}}
securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, runAsNonRoot: true, runAsUser: 65532, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}
{{- end }}
