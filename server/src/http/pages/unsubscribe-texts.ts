/** The texts of the page where recipients unsubscribe, in the languages that it has. */

/** `{stream}` and `{sender}` are replaced. */
export interface UnsubscribeTexts {
  title: string;
  question: string;
  unsubscribe: string;
  done: string;
  undo: string;
  resubscribe: string;
  back: string;
  /** Something other than an unsubscribe stops the mail, so the recipient cannot come back here. */
  blocked: string;
  others: string;
  save: string;
  saved: string;
  invalid: string;
}

const TEXTS: Record<string, UnsubscribeTexts> = {
  en: {
    title: 'Unsubscribe',
    question: 'Do you want to stop receiving {stream} from {sender}?',
    unsubscribe: 'Unsubscribe',
    done: 'You are unsubscribed from {stream} from {sender}.',
    undo: 'Was this a mistake?',
    resubscribe: 'Subscribe again',
    back: 'You are subscribed to {stream} again.',
    blocked: 'You do not receive {stream} from {sender}.',
    others: 'Other emails from {sender}',
    save: 'Save',
    saved: 'Your choice is saved.',
    invalid: 'This link is incomplete. Open the email again and follow the link from there.',
  },
  de: {
    title: 'Abmelden',
    question: 'Möchten Sie {stream} von {sender} nicht mehr erhalten?',
    unsubscribe: 'Abmelden',
    done: 'Sie sind von {stream} von {sender} abgemeldet.',
    undo: 'War das ein Versehen?',
    resubscribe: 'Wieder anmelden',
    back: 'Sie erhalten {stream} wieder.',
    blocked: 'Sie erhalten {stream} von {sender} nicht.',
    others: 'Weitere E-Mails von {sender}',
    save: 'Speichern',
    saved: 'Ihre Auswahl ist gespeichert.',
    invalid:
      'Dieser Link ist unvollständig. Öffnen Sie die E-Mail erneut und folgen Sie dem Link darin.',
  },
  fr: {
    title: 'Se désabonner',
    question: 'Souhaitez-vous ne plus recevoir {stream} de {sender} ?',
    unsubscribe: 'Se désabonner',
    done: 'Vous êtes désabonné de {stream} de {sender}.',
    undo: 'Était-ce une erreur ?',
    resubscribe: 'Se réabonner',
    back: 'Vous êtes de nouveau abonné à {stream}.',
    blocked: 'Vous ne recevez pas {stream} de {sender}.',
    others: 'Autres e-mails de {sender}',
    save: 'Enregistrer',
    saved: 'Vos choix sont enregistrés.',
    invalid: 'Ce lien est incomplet. Rouvrez l’e-mail et suivez le lien qu’il contient.',
  },
  es: {
    title: 'Darse de baja',
    question: '¿Desea dejar de recibir {stream} de {sender}?',
    unsubscribe: 'Darse de baja',
    done: 'Se ha dado de baja de {stream} de {sender}.',
    undo: '¿Ha sido un error?',
    resubscribe: 'Volver a suscribirse',
    back: 'Vuelve a estar suscrito a {stream}.',
    blocked: 'No recibe {stream} de {sender}.',
    others: 'Otros correos de {sender}',
    save: 'Guardar',
    saved: 'Sus preferencias se han guardado.',
    invalid: 'Este enlace está incompleto. Abra de nuevo el correo y siga el enlace.',
  },
  it: {
    title: 'Annulla iscrizione',
    question: 'Non desidera più ricevere {stream} da {sender}?',
    unsubscribe: 'Annulla iscrizione',
    done: 'L’iscrizione a {stream} di {sender} è stata annullata.',
    undo: 'È stato un errore?',
    resubscribe: 'Iscriviti di nuovo',
    back: 'L’iscrizione a {stream} è di nuovo attiva.',
    blocked: 'Non riceve {stream} da {sender}.',
    others: 'Altre e-mail di {sender}',
    save: 'Salva',
    saved: 'Le preferenze sono state salvate.',
    invalid: 'Questo link è incompleto. Riapra l’e-mail e segua il link.',
  },
  nl: {
    title: 'Afmelden',
    question: 'Wilt u {stream} van {sender} niet meer ontvangen?',
    unsubscribe: 'Afmelden',
    done: 'U bent afgemeld voor {stream} van {sender}.',
    undo: 'Was dit een vergissing?',
    resubscribe: 'Opnieuw aanmelden',
    back: 'U bent weer aangemeld voor {stream}.',
    blocked: 'U ontvangt {stream} van {sender} niet.',
    others: 'Andere e-mails van {sender}',
    save: 'Opslaan',
    saved: 'Uw keuze is opgeslagen.',
    invalid: 'Deze link is onvolledig. Open de e-mail opnieuw en volg de link daarin.',
  },
  pt: {
    title: 'Cancelar inscrição',
    question: 'Deseja deixar de receber {stream} de {sender}?',
    unsubscribe: 'Cancelar inscrição',
    done: 'A sua inscrição em {stream} de {sender} foi cancelada.',
    undo: 'Foi um engano?',
    resubscribe: 'Inscrever-se novamente',
    back: 'A sua inscrição em {stream} está ativa novamente.',
    blocked: 'Não recebe {stream} de {sender}.',
    others: 'Outros e-mails de {sender}',
    save: 'Guardar',
    saved: 'As suas preferências foram guardadas.',
    invalid: 'Este link está incompleto. Abra o e-mail novamente e siga o link.',
  },
};

const ENGLISH = TEXTS.en as UnsubscribeTexts;
/** More entries in a header of a request are ignored. */
const LANGUAGES_READ_MAX = 20;

/** The language of the recipient's contact, or else the first of the browser's that exists. */
export function chooseLanguage(
  locale: string | null,
  acceptLanguage: string | undefined,
): { language: string; texts: UnsubscribeTexts } {
  const accepted = (acceptLanguage ?? '')
    .split(',', LANGUAGES_READ_MAX)
    .map((entry) => entry.split(';', 1)[0] ?? '');
  for (const wanted of [locale ?? '', ...accepted]) {
    const language = wanted.trim().split('-', 1)[0]?.toLowerCase() ?? '';
    if (Object.hasOwn(TEXTS, language)) {
      return { language, texts: TEXTS[language] as UnsubscribeTexts };
    }
  }
  return { language: 'en', texts: ENGLISH };
}
